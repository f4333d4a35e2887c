import { Pool } from 'undici';

export interface ConnectionLimits {
  /** Maximum concurrent calls. Callers must not exceed it: further calls would wait for a connection within their deadline. */
  connections: number;
  connectTimeoutMs: number;
  idleTimeoutMs: number;
  /** Maximum bytes of an answer. Default 16 MiB, far above 4,096 tokens with their event framing. */
  maxAnswerBytes?: number;
}

export type ProviderConnections = ReturnType<typeof providerConnections>;

/** A header of each answer: its real status. The SDKs invent one for an error within a 200. */
export const receivedStatus = 'x-received-status';

/** The connection failed, or closed before the response headers. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/** `fetch` only POSTs strings to the origin of `url`; no redirects, no compression (so that `maxAnswerBytes` is exact). */
export function providerConnections(url: string, limits: ConnectionLimits) {
  const pool = new Pool(new URL(url).origin, {
    connections: limits.connections,
    // One call per connection, so that cancelling a call closes no other.
    pipelining: 1,
    allowH2: false,
    connect: { timeout: limits.connectTimeoutMs },
    // Shorter than the 5 s of common model servers, so that no connection is used while the server closes it.
    keepAliveTimeout: 4_000,
    // Unlimited: the call's deadlines bound them.
    headersTimeout: 0,
    bodyTimeout: limits.idleTimeoutMs,
    maxResponseSize: limits.maxAnswerBytes ?? 16 * 1024 * 1024,
  });

  return {
    async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
      const target = new URL(String(input));
      const signal = init?.signal ?? null;
      try {
        const answer = await pool.request({
          path: target.pathname + target.search,
          method: 'POST',
          headers: { ...Object.fromEntries(new Headers(init?.headers)), 'accept-encoding': 'identity' },
          body: String(init?.body),
          signal,
        });
        // `Response` allows no body for these statuses.
        const body = [204, 205, 304].includes(answer.statusCode) ? null : chunksOf(answer.body);
        const headers = headersOf(answer.headers);
        headers.set(receivedStatus, String(answer.statusCode));
        return new Response(body, { status: answer.statusCode, headers });
      } catch (cause) {
        signal?.throwIfAborted();
        throw new NoResponseError('No answer from the provider', { cause });
      }
    },
    close: () => pool.destroy(),
  };
}

function chunksOf(body: AsyncIterable<Uint8Array> & { destroy(error?: Error): unknown }): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        body.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function headersOf(headers: Record<string, string | string[] | undefined>): Headers {
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
  return new Headers(entries);
}
