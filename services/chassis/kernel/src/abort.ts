/** True for what an aborted signal makes a call throw, whichever library threw it: not all of theirs are native errors. */
export function isAbortError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
}
