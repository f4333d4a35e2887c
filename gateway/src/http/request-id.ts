import { randomUUID } from 'node:crypto';

/** The id of a request in logs and traces: the client's own when it is well formed, else a new one. */
export function requestIdFrom(given: unknown): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
