import { type Duplex, pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createInflate, createUnzip } from 'node:zlib';
import { type Dispatcher, Pool } from 'undici';

export interface ConnectionLimits {
  /**
   * Maximum concurrent calls. Callers must not exceed it: a further call would spend its deadline waiting for a
   * connection.
   */
  connections: number;
  connectTimeoutMs: number;
  /** Maximum bytes of an answer. Default 16 MiB, far more than 4,096 tokens take with their event framing. */
  maxAnswerBytes?: number;
}

export type ProviderConnections = ReturnType<typeof providerConnections>;

/** Header with the HTTP status that was received. For an error within a 200 response, the SDKs invent a status. */
export const receivedStatus = 'x-received-status';

/** Thrown if the connection failed, or if it closed before the response headers arrived. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/**
 * Creates a pool of connections. `fetch` only POSTs strings to the origin of `url` and follows no redirects. It
 * requests no compression, but decompresses the answer of a server that compresses anyway; `maxAnswerBytes` limits the
 * decompressed size.
 */
export function providerConnections(url: string, limits: ConnectionLimits) {
  const { maxAnswerBytes = 16 * 1024 * 1024 } = limits;
  const pool = new Pool(new URL(url).origin, {
    connections: limits.connections,
    // One call per connection, so that a cancelled call does not close the connection of another call.
    pipelining: 1,
    allowH2: false,
    connect: { timeout: limits.connectTimeoutMs },
    // Common model servers close an idle connection after 5 s. This time is shorter, so that no connection is used while its server closes
    // it.
    keepAliveTimeout: 4_000,
    // The client's own timeouts are disabled, because the call's deadlines limit the wait for headers and body.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: maxAnswerBytes,
  });

  const sent = new WeakSet<AbortSignal>();
  const watched = pool.compose((dispatch) => (options, handler) => {
    const { signal } = options as Dispatcher.RequestOptions;
    return dispatch(
      options,
      notifyStart(handler, () => signal instanceof AbortSignal && sent.add(signal)),
    );
  });

  return {
    async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
      const target = new URL(String(input));
      const signal = init?.signal ?? null;
      try {
        const answer = await watched.request({
          path: target.pathname + target.search,
          method: 'POST',
          headers: { ...Object.fromEntries(new Headers(init?.headers)), 'accept-encoding': 'identity' },
          body: String(init?.body),
          signal,
        });
        // `Response` allows no body for the statuses 204, 205 and 304.
        const headers = headersOf(answer.headers);
        const unpacked = unpackedBody(answer.body, headers.get('content-encoding'));
        const body = [204, 205, 304].includes(answer.statusCode) ? null : chunksOf(unpacked, maxAnswerBytes);
        headers.delete('content-encoding');
        headers.delete('content-length');
        headers.set(receivedStatus, String(answer.statusCode));
        if (signal && answer.statusCode >= 400) sent.delete(signal);
        return new Response(body, { status: answer.statusCode, headers });
      } catch (cause) {
        signal?.throwIfAborted();
        throw new NoResponseError('No answer from the provider', { cause });
      }
    },
    /**
     * Reports whether the request with this signal has reached a connection and was not refused, so that its provider
     * may be working on it.
     */
    isTaken: (signal: AbortSignal) => sent.has(signal),
    close: () => pool.destroy(),
  };
}

/** Calls `started` when the request is written to a connection. */
function notifyStart(handler: Dispatcher.DispatchHandler, started: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(...given) {
      started();
      handler.onRequestStart?.(...given);
    },
    onRequestUpgrade: (...given) => handler.onRequestUpgrade?.(...given),
    onResponseStart: (...given) => handler.onResponseStart?.(...given),
    onResponseData: (...given) => handler.onResponseData?.(...given),
    onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
    onResponseError: (...given) => handler.onResponseError?.(...given),
  };
}

const unpackers: Record<string, () => Duplex> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Yields each piece as soon as it can be decompressed. */
function unpackedBody(body: Readable, encoding: string | null): Readable {
  const unpacker = unpackers[encoding?.trim().toLowerCase() ?? '']?.();
  if (!unpacker) return body;
  pipeline(body, unpacker, () => undefined);
  return unpacker;
}

function chunksOf(body: Readable, maxBytes: number): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) return controller.close();
        bytes += value.length;
        if (bytes > maxBytes) {
          const error = new RangeError('The answer is too large');
          body.destroy(error);
          throw error;
        }
        controller.enqueue(value);
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
