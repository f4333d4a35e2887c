export interface ParleyErrorDetails {
  /** `BAD_REQUEST_FIELDS` and the like, where the API gives one. */
  reason?: string | undefined;
  /** How long the API asks to wait. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Codes of errors after which the same request may succeed. */
const passing = ['NETWORK', 'UNAVAILABLE', 'TOO_MANY_REQUESTS'];

/**
 * Why a request or a session failed. `code` is the API's (`BAD_REQUEST`, `FORBIDDEN`, `UNAUTHENTICATED`, …), `NETWORK` where no answer
 * arrived, or `EXPIRED` where the token can no longer be refreshed: the page's server has to start a new session then.
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

/** An error as GraphQL answers it. */
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
