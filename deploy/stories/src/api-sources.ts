import { readFileSync } from 'node:fs';

/** One operation as a client sends it, and what it gets. What differs between two runs is replaced by fixed values. */
export interface ApiExample {
  operation: string;
  query: string;
  variables?: Record<string, unknown>;
  /** The body of the response. */
  answer?: unknown;
  /** The payloads of a subscription, in order. */
  events?: unknown[];
}

/** An error of one operation, beside those that any operation has. */
export interface ListedError {
  code: string;
  reason?: string;
  /** Completes the sentence "The error is answered when …". */
  when: string;
}

const folder = new URL('../../../gateway/api/', import.meta.url);

/** The file with the examples of a subgraph, one of each operation. */
export const examplesFile = (subgraph: string) => new URL(`examples/${subgraph}.json`, folder);

/** `gateway/api/errors.json`, by the names of operations. */
export function readApiErrors(): Map<string, ListedError[]> {
  const text = readFileSync(new URL('errors.json', folder), 'utf8');
  return new Map(Object.entries(JSON.parse(text) as Record<string, ListedError[]>));
}
