import protobuf from 'protobufjs';
import { timestampOf } from './timestamp.ts';
import { UsageError } from './usage-error.ts';

const timestampType = '.google.protobuf.Timestamp';
const wholeNumbers: Record<string, [min: bigint, max: bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};
/** Other encodings of the same numbers. */
const synonyms: Record<string, string> = {
  sint32: 'int32',
  sfixed32: 'int32',
  sint64: 'int64',
  sfixed64: 'int64',
  fixed32: 'uint32',
  fixed64: 'uint64',
};

/**
 * The message that a JSON text stands for, by the rules of protobuf's JSON: names as in `sessionId` or `session_id`, int64 as
 * text or number, bytes in base64, times in RFC 3339, null for what is left out. proto-loader alone would take "abc" for 0
 * and pass over fields that it does not know.
 * @throws UsageError naming everything that does not fit.
 */
export function requestFromJson(type: protobuf.Type, text: string): object {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`The request is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const problems: string[] = [];
  const request = message(type, json, '', problems);
  if (problems.length > 0) throw new UsageError(`The request is no ${type.name}:\n  ${problems.join('\n  ')}`);
  return request as object;
}

function message(type: protobuf.Type, json: unknown, path: string, problems: string[]): unknown {
  if (type.fullName === timestampType) {
    return timestampOf(json) ?? refused(problems, path, 'is no time such as 2026-01-31T12:00:00Z');
  }
  if (!isObject(json)) return refused(problems, path || 'it', 'is no object');
  const result: Record<string, unknown> = {};
  const taken = new Map<string, string>();
  for (const [key, value] of Object.entries(json)) {
    const at = path === '' ? key : `${path}.${key}`;
    const field = fieldNamed(type, key) ?? fieldNamed(type, protobuf.util.camelCase(key));
    if (!field) {
      refused(problems, at, `is no field; ${type.name} has: ${Object.keys(type.fields).join(', ') || 'none'}`);
      continue;
    }
    if (value === null) continue;
    const group = field.partOf?.name ?? field.name;
    const other = taken.get(group);
    if (other !== undefined) refused(problems, at, `cannot be given beside ${other}`);
    taken.set(group, key);
    result[field.name] = fieldValue(field, value, at, problems);
  }
  return result;
}

/** Not `fields[name]`: `constructor` is no field. */
function fieldNamed(type: protobuf.Type, name: string): protobuf.Field | undefined {
  return Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
}

function fieldValue(field: protobuf.Field, json: unknown, path: string, problems: string[]): unknown {
  if (field instanceof protobuf.MapField) {
    if (!isObject(json)) return refused(problems, path, 'is no object');
    return Object.fromEntries(
      Object.entries(json).map(([key, value]) => [key, single(field, value, `${path}.${key}`, problems)]),
    );
  }
  if (!field.repeated) return single(field, json, path, problems);
  if (!Array.isArray(json)) return refused(problems, path, 'is no list');
  return json.map((value, index) => single(field, value, `${path}[${index}]`, problems));
}

function single({ type, resolvedType }: protobuf.Field, json: unknown, path: string, problems: string[]): unknown {
  if (resolvedType instanceof protobuf.Type) return message(resolvedType, json, path, problems);
  if (resolvedType instanceof protobuf.Enum) {
    const isKnown = typeof json === 'string' ? Object.hasOwn(resolvedType.values, json) : Number.isInteger(json);
    return isKnown ? json : refused(problems, path, `is none of ${Object.keys(resolvedType.values).join(', ')}`);
  }
  if (type === 'string') return typeof json === 'string' ? json : refused(problems, path, 'is no text');
  if (type === 'bool') return typeof json === 'boolean' ? json : refused(problems, path, 'is neither true nor false');
  if (type === 'bytes') return isBase64(json) ? json : refused(problems, path, 'is no base64');
  if (type === 'double' || type === 'float') {
    return typeof json === 'number' ? json : refused(problems, path, 'is no number');
  }
  return wholeNumber(synonyms[type] ?? type, json, path, problems);
}

function wholeNumber(type: string, json: unknown, path: string, problems: string[]): unknown {
  const [min, max] = wholeNumbers[type] ?? [0n, 0n];
  const isExact = typeof json === 'number' ? Number.isSafeInteger(json) : /^-?\d{1,20}$/.test(String(json));
  if ((typeof json !== 'number' && typeof json !== 'string') || !isExact) {
    const hint = typeof json === 'number' && Number.isInteger(json) ? '; write larger ones as text' : '';
    return refused(problems, path, `is no whole number${hint}`);
  }
  const value = BigInt(json);
  if (value < min || value > max) return refused(problems, path, `does not fit into ${type}`);
  return type.endsWith('64') ? String(value) : Number(value);
}

function isBase64(json: unknown): boolean {
  return typeof json === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(json) && json.length % 4 === 0;
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function refused(problems: string[], path: string, reason: string): undefined {
  problems.push(`${path} ${reason}`);
}
