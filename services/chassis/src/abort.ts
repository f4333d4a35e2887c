/** True for what an aborted signal makes a call throw, whichever library threw it. */
export function isAbortError(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
