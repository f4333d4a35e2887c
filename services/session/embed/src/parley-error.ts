export interface ParleyErrorDetails {
  /** The reason in the API's response, e.g. `IDEMPOTENCY_KEY_IN_PROGRESS`; undefined if the response has none. */
  reason?: string | undefined;
  /** Time in ms for which the API asks the client to wait before a retry. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Error codes after which a retry may succeed. */
const passing = ['NETWORK', 'UNAVAILABLE', 'TOO_MANY_REQUESTS'];

/**
 * Reports why a request or a session failed. `code` can be:
 * - a code of the API: `BAD_REQUEST`, `FORBIDDEN`, `UNAUTHENTICATED`, …
 * - `NETWORK` if no response arrived
 * - `EXPIRED` if the token can no longer be refreshed; the page's server must then start a new session
 * - `CLOSED` for a call that was interrupted because its session was closed
 */
export class ParleyError extends Error {
  readonly code: string;
  readonly reason: string | undefined;
  readonly retryAfterMs: number;

  constructor(code: string, message: string, { reason, retryAfterMs = 0, cause }: ParleyErrorDetails = {}) {
    super(message, { cause });
    this.name = 'ParleyError';
    this.code = code;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return passing.includes(this.code) || this.reason === 'IDEMPOTENCY_KEY_IN_PROGRESS';
  }
}

/** An error in a GraphQL response. */
export interface GraphError {
  message?: string;
  extensions?: { code?: string; reason?: string };
}

export function fromGraphError({ message = 'The request failed', extensions }: GraphError, retryAfterMs?: number) {
  return new ParleyError(extensions?.code ?? 'INTERNAL', message, { reason: extensions?.reason, retryAfterMs });
}

export function asParleyError(error: unknown): ParleyError {
  return error instanceof ParleyError ? error : new ParleyError('INTERNAL', String(error), { cause: error });
}
