import { createHash } from 'node:crypto';
import { isJsonObject } from '@parley/kernel/json';

export interface AskedOperation {
  query?: string | undefined;
  operationName?: string | undefined;
  variables?: Record<string, unknown> | undefined;
}

/** Hashes query, operation name and variables. The order of names in variables does not matter. */
export function requestSha256({ query, operationName, variables }: AskedOperation): Buffer {
  const asked = [query, operationName || null, variables ?? {}];
  return createHash('sha256').update(JSON.stringify(asked, sortedByName)).digest();
}

function sortedByName(_name: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
