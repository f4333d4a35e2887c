import { createHash } from 'node:crypto';
import { isJsonObject } from '@parley/kernel/json';

/** Hashes a schema independently of the order of its properties. */
export function schemaHash(schema: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(canonical(schema)))
    .digest('base64url');
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // Uses pairs, because an object would put numeric names first and lose the name `__proto__`.
  return { of: entries.map(([name, each]) => [name, canonical(each)]) };
}
