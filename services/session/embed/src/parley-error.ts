export interface ParleyErrorDetails {
  /** The API's reason, e.g. `BAD_REQUEST_FIELDS`, if it gave one. */
  reason?: string | undefined;
  /** How long the API asks the client to wait. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Error codes after which a retry may succeed. */
const passing = ['NETWORK', 'UNAVAILABLE', 'TOO_MANY_REQUESTS'];

/**
 * Why a request or a session failed. `code` is a code of the API (`BAD_REQUEST`, `FORBIDDEN`, `UNAUTHENTICATED`, …), `NETWORK` when no
 * response arrived, or `EXPIRED` when the token can no longer be refreshed, so that the page's server has to start a new session.
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
