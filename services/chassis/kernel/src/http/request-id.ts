import { randomUUID } from 'node:crypto';

/** The client's id when it is well-formed, else a new one. */
export function requestIdFrom(given: unknown): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
