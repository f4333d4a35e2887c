import { aborted } from 'node:util';
import { badRequest, unavailable } from '@parley/kernel/errors';
import type { CallContext } from 'nice-grpc-common';

/** How long a server may take to end a stream that was left, before the call is cancelled. */
const endTimeoutMs = 5_000;

/**
 * Reads a stream that has no end of its own until `signal` aborts or the reading ends. It is left by ending its requests: a
 * cancelled call resets its HTTP/2 stream, and a server closes a connection, with every other stream on it, on which too many
 * are reset (Node and nghttp2: 1,000 at once, or 33 a second for long). Whoever leaves does not wait for the server.
 * @param open calls a method that takes and answers a stream, such as `Follow` of `SubscriptionService`.
 */
export async function* follow<Request, Response>(
  open: (requests: AsyncIterable<Request>, options: { signal: AbortSignal }) => AsyncIterable<Response>,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<Response, void, undefined> {
  if (signal.aborted) return;
  const left = Promise.withResolvers<void>();
  const cut = new AbortController();
  async function* requests() {
    yield request;
    await left.promise;
  }
  const responses = open(requests(), { signal: cut.signal })[Symbol.asyncIterator]();
  let isOver = false;
  let wake: () => void = () => undefined;
  const end = () => {
    left.resolve();
    if (isOver) return;
    isOver = true;
    void endOf(responses, cut);
  };
  // At once, also while whoever reads is still busy with a response.
  const leave = () => {
    wake();
    end();
  };
  signal.addEventListener('abort', leave, { once: true });

  /** The next response; undefined when the reader leaves before it comes. */
  function next(): Promise<IteratorResult<Response> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Response> | undefined>();
    wake = () => resolve(undefined);
    responses.next().then(resolve, reject);
    return promise;
  }

  try {
    while (!signal.aborted) {
      const result = await next();
      if (!result) return;
      if (result.done) {
        isOver = true;
        return;
      }
      yield result.value;
    }
  } catch (error) {
    isOver = true;
    throw error;
  } finally {
    signal.removeEventListener('abort', leave);
    end();
  }
}

/** Reads what is still on its way, since only a stream that has been read to its end ends without a reset. */
async function endOf(responses: AsyncIterator<unknown>, cut: AbortController): Promise<void> {
  const timer = setTimeout(() => cut.abort(), endTimeoutMs);
  timer.unref();
  try {
    while (!(await responses.next()).done);
  } catch {
    // Nobody is there any more to be told.
  } finally {
    clearTimeout(timer);
  }
}

/**
 * At the server of such a method: tells the reader, by the header of the answer, that whatever happens from now on will reach it.
 * There may be nothing to answer for long.
 */
export function acknowledgeFollow({ header, sendHeader }: Pick<CallContext, 'header' | 'sendHeader'>): void {
  header.set('parley-following', '1'); // an empty header would wait for the first response
  sendHeader();
}

/**
 * At the server of such a method: the one request, and a signal that aborts when the reader has left.
 * @param draining Nobody waits for the request beyond it.
 * @throws DomainError `badRequest` when the requests end before there is one, `unavailable` when the server stops.
 */
export async function acceptFollow<Request>(
  requests: AsyncIterable<Request>,
  draining: AbortSignal,
): Promise<{ request: Request; left: AbortSignal }> {
  const iterator = requests[Symbol.asyncIterator]();
  const stopping = aborted(draining, requests).then(() => undefined);
  const first = await Promise.race([iterator.next(), stopping]);
  if (!first) throw unavailable('This server is stopping');
  if (first.done) throw badRequest('The stream was left before it said what to follow');
  const left = new AbortController();
  const wait = async () => {
    try {
      while (!(await iterator.next()).done); // more requests mean nothing yet
    } finally {
      left.abort();
    }
  };
  wait().catch(() => undefined); // cancelled, or the connection is gone
  return { request: first.value, left: left.signal };
}
