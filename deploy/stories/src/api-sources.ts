import { readFileSync } from 'node:fs';

/** An operation as a client sends it, with its response. Values that differ between runs are replaced by fixed values. */
export interface ApiExample {
  operation: string;
  query: string;
  variables?: Record<string, unknown>;
  /** The body of the response. */
  answer?: unknown;
  /** The payloads of a subscription, in order. */
  events?: unknown[];
}

/** An error of one operation, in addition to the errors that every operation may return. */
export interface ListedError {
  code: string;
  reason?: string;
  /** Completes the sentence "The error is answered when …". */
  when: string;
}

const folder = new URL('../../../gateway/api/', import.meta.url);

/** Returns the URL of the file with a subgraph's examples, one for each operation. */
export const examplesFile = (subgraph: string) => new URL(`examples/${subgraph}.json`, folder);

/** Reads `gateway/api/errors.json`: the errors by operation name. */
export function readApiErrors(): Map<string, ListedError[]> {
  const text = readFileSync(new URL('errors.json', folder), 'utf8');
  return new Map(Object.entries(JSON.parse(text) as Record<string, ListedError[]>));
}
