import { randomUUID } from 'node:crypto';

/** Returns the request id that the client sent if it is well-formed, otherwise a new id. */
export function requestIdFrom(given: unknown): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
