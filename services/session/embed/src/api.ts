import { backoff } from './backoff.ts';
import { asParleyError, fromGraphError, type GraphError, ParleyError } from './parley-error.ts';

export interface ApiOptions {
  /** The URL of the GraphQL endpoint, which must be absolute. */
  endpoint: string;
  token: string;
  /** Called with each new token. */
  onToken: (token: string, expiresInMs: number) => void;
  /** The session to which the token gives access. */
  sessionId: number;
  random?: (() => number) | undefined;
}

export interface CallOptions {
  /** If given, the operation is safe to repeat, and is retried while the network or the server fails. */
  idempotencyKey?: string;
  /** Cancels the call. */
  signal: AbortSignal;
}

export type Api = ReturnType<typeof createApi>;

const refreshDocument = `mutation ($input: RefreshAvatarTokenInput!) {
  refreshAvatarToken(input: $input) { sessionId avatarToken expiresInMs }
}`;

const requestTimeoutMs = 30_000;
/** With the pauses between them, this many attempts span about 15 seconds. */
const maxAttempts = 6;

/** Creates functions that call the API for one session. The session's token is refreshed when the API refuses it. */
export function createApi({ endpoint, sessionId, onToken, random, ...given }: ApiOptions) {
  let { token } = given;
  let refreshing: Promise<void> | undefined;
  const pauseAfter = backoff({ firstMs: 500, maxMs: 8_000, ...(random && { random }) });

  async function post<Data>(query: string, variables: object, headers: object, signal?: AbortSignal): Promise<Data> {
    let response: Response;
    try {
      const timeoutSignal = AbortSignal.timeout(requestTimeoutMs);
      response = await fetch(endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-app-platform': 'customer', ...headers },
        body: JSON.stringify({ query, variables }),
        signal: signal ? AbortSignal.any([signal, timeoutSignal]) : timeoutSignal,
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw new ParleyError('NETWORK', 'The server cannot be reached', { cause });
    }
    const answer = (await response.json().catch(() => ({}))) as { data?: Data; errors?: GraphError[] };
    const retryAfterMs = Number(response.headers.get('retry-after')) * 1_000 || undefined;
    if (answer.errors?.[0]) throw fromGraphError(answer.errors[0], retryAfterMs);
    if (answer.data) return answer.data;
    throw new ParleyError('UNAVAILABLE', `The server answered ${response.status}`, { retryAfterMs });
  }

  async function renew(): Promise<void> {
    const data = await post<{ refreshAvatarToken: { sessionId: number; avatarToken: string; expiresInMs: number } }>(
      refreshDocument,
      { input: { avatarToken: token } },
      {}, // no token in a header, because the input contains the token
    ).catch((error: unknown) => {
      const { code, message } = asParleyError(error);
      throw code === 'UNAUTHENTICATED' ? new ParleyError('EXPIRED', message, { cause: error }) : error;
    });
    const fresh = data.refreshAvatarToken;
    if (fresh.sessionId !== sessionId) {
      throw new ParleyError('FORBIDDEN', `The token is of session ${fresh.sessionId}, not ${sessionId}`);
    }
    token = fresh.avatarToken;
    onToken(token, fresh.expiresInMs);
  }

  /**
   * Refreshes the token, unless the token in use is no longer `used`. Concurrent calls share one request.
   * @throws ParleyError `EXPIRED` if the old token expired too long ago to be refreshed
   * @throws ParleyError `BAD_REQUEST` if the session is no longer active
   */
  function refresh(used: string): Promise<void> {
    if (used !== token) return Promise.resolve();
    refreshing ??= renew().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  return {
    /** Returns the token in use. */
    token: () => token,
    refresh,
    /** Fetches with the token, and retries once with a refreshed token after a 401. */
    async fetch(url: string, init: RequestInit): Promise<Response> {
      const used = token;
      const ask = () => fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
      const response = await ask();
      if (response.status !== 401) return response;
      await refresh(used);
      return ask();
    },
    /** Runs a mutation. @throws ParleyError */
    async call<Data>(query: string, variables: object, { idempotencyKey, signal }: CallOptions): Promise<Data> {
      const key = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
      let isRefreshed = false;
      for (let attempts = 1; ; attempts += 1) {
        const used = token;
        try {
          return await post<Data>(query, variables, { authorization: `Bearer ${used}`, ...key }, signal);
        } catch (thrown) {
          signal.throwIfAborted();
          const error = asParleyError(thrown);
          if (error.code === 'UNAUTHENTICATED' && !isRefreshed) {
            isRefreshed = true;
            await refresh(used);
          } else if (error.isPassing && idempotencyKey !== undefined && attempts < maxAttempts) {
            await pause(Math.max(error.retryAfterMs, pauseAfter(attempts)), signal);
          } else throw error;
        }
      }
    },
  };
}

/** Resolves after `ms`. @throws the signal's reason if the signal aborts first */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(done, ms);
  const aborted = () => {
    clearTimeout(timer);
    reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  };
  function done(): void {
    signal.removeEventListener('abort', aborted);
    resolve();
  }
  if (signal.aborted) aborted();
  else signal.addEventListener('abort', aborted, { once: true });
  return promise;
}
