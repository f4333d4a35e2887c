import { Pool } from 'undici';

/** Bounds on what one provider may take of us. Times in milliseconds. */
export interface ConnectionLimits {
  /** Calls at once. More would wait for a connection within their own deadline: let no more through. */
  connections: number;
  /** TCP and TLS together. Default 5,000. */
  connectTimeoutMs?: number;
  /** The longest silence inside an answer. Default 30,000. */
  idleTimeoutMs?: number;
  /** The largest answer. Default 16 MiB: far above 4,096 tokens, events around them included. */
  maxAnswerBytes?: number;
}

/** The connections to one provider, and a `fetch` over them for its SDK. */
export interface ProviderConnections {
  fetch: typeof globalThis.fetch;
  /** Cuts what is running. */
  close(): Promise<void>;
}

/** No answer came at all: not connected, or the connection closed before the headers. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * Opens a bounded pool to the provider at `url`. Its `fetch` follows no redirect, takes no compressed answer (so an
 * answer is as large as its bytes) and does no more than the SDK needs: a POST of a string, a streamed answer.
 */
export function providerConnections(url: string, limits: ConnectionLimits): ProviderConnections {
  const pool = new Pool(new URL(url).origin, {
    connections: limits.connections,
    // A call is a connection, so that a cancelled one closes its own and nobody else's.
    pipelining: 1,
    allowH2: false,
    connect: { timeout: limits.connectTimeoutMs ?? 5_000 },
    // Shorter than the 5 s of common model servers: a connection they are about to close must not be used.
    keepAliveTimeout: 4_000,
    // The headers of a whole answer come when it is complete: the call's own deadline bounds them.
    headersTimeout: 0,
    bodyTimeout: limits.idleTimeoutMs ?? 30_000,
    maxResponseSize: limits.maxAnswerBytes ?? 16 * 1024 * 1024,
  });

  return {
    async fetch(input, init) {
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
        // The fetch standard allows these statuses no body.
        const body = [204, 205, 304].includes(answer.statusCode) ? null : chunksOf(answer.body);
        return new Response(body, { status: answer.statusCode, headers: headersOf(answer.headers) });
      } catch (cause) {
        signal?.throwIfAborted();
        throw new NoAnswer('No answer from the provider', { cause });
      }
    },
    close: () => pool.destroy(),
  };
}

/** The body as the web stream that the SDK reads, with the socket held back while nobody does. */
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
