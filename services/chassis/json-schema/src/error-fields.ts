import type { FieldProblem } from '@parley/kernel/errors';
import type { ErrorObject } from 'ajv';

const maxFields = 20;
const maxKeyLength = 100;
const maxMessageLength = 300;

/** Keywords whose error only repeats that a subschema failed; the subschema reports its own errors. */
const summaries = new Set(['allOf', 'if', '$ref', 'propertyNames']);

/** Returns the errors of ajv by path below `root`, without values: one error per path, at most 20 paths. */
export function errorFields(errors: readonly ErrorObject[], root: string): FieldProblem[] {
  const fields = new Map<string, string>();
  const telling = errors.filter(({ keyword }) => !summaries.has(keyword));
  for (const error of telling.length > 0 ? telling : errors) {
    const path = [root, ...keysOf(error)].filter((key) => key !== '').join('.');
    if (!fields.has(path)) fields.set(path, messageOf(error));
    if (fields.size === maxFields) break;
  }
  return [...fields].map(([path, message]) => ({ path, message }));
}

function keysOf({ instancePath, keyword, params }: ErrorObject): string[] {
  const keys = instancePath.split('/').slice(1).map(unescaped);
  const property: unknown = keyword === 'required' ? params['missingProperty'] : unexpectedOf(params);
  return (typeof property === 'string' ? [...keys, property] : keys).map(shortKey);
}

function unexpectedOf(params: Record<string, unknown>): unknown {
  return params['additionalProperty'] ?? params['unevaluatedProperty'];
}

function messageOf({ keyword, params, message = 'must be valid' }: ErrorObject): string {
  if (keyword === 'required') return 'must be given';
  if (unexpectedOf(params) !== undefined) return 'must not be given';
  if (keyword === 'false schema') return 'must not be given';
  const allowed: unknown = params['allowedValues'];
  const text = Array.isArray(allowed)
    ? `must be one of ${allowed.map((each) => JSON.stringify(each)).join(', ')}`
    : message;
  return shortened(text, maxMessageLength);
}

/** Decodes a key of a JSON pointer. */
function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}

function shortKey(key: string): string {
  return shortened(key, maxKeyLength);
}

function shortened(text: string, max: number): string {
  return (text.length > max ? `${text.slice(0, max)}…` : text).toWellFormed();
}
