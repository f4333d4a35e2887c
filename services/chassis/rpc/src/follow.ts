import { aborted } from 'node:util';
import { badRequest, unavailable } from '@parley/kernel/errors';
import type { CallContext, Metadata } from 'nice-grpc-common';

/** How long a server may take to end a stream whose client has left, before the call is cancelled. */
const endTimeoutMs = 5_000;

/**
 * Reads an endless stream until `signal` aborts or the reader stops. Then ends the request stream, without waiting for the server. The call
 * is not cancelled, because that would reset the HTTP/2 stream, and a server closes a connection with all its streams after too many resets
 * (Node and nghttp2: 1,000 at once, or 33 a second).
 * @param open calls a method with a request stream and a response stream, such as `Follow` of `SubscriptionService`.
 */
export async function* follow<Request, Response>(
  open: (requests: AsyncIterable<Request>, options: { signal: AbortSignal }) => AsyncIterable<Response>,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<Response, void, undefined> {
  if (signal.aborted) return;
  const closed = Promise.withResolvers<void>();
  const cancel = new AbortController();
  async function* requests() {
    yield request;
    await closed.promise;
  }
  const responses = open(requests(), { signal: cancel.signal })[Symbol.asyncIterator]();
  let isOver = false;
  let wake: () => void = () => undefined;
  const end = () => {
    closed.resolve();
    if (isOver) return;
    isOver = true;
    void drain(responses, cancel);
  };
  // The abort takes effect at once, even while the reader handles a response.
  const leave = () => {
    wake();
    end();
  };
  signal.addEventListener('abort', leave, { once: true });

  /** Returns the next response; undefined when the reader leaves first. */
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

/** Reads the rest of the responses, because a stream ends without a reset only if it was read to its end. */
async function drain(responses: AsyncIterator<unknown>, cancel: AbortController): Promise<void> {
  const timer = setTimeout(() => cancel.abort(), endTimeoutMs);
  timer.unref();
  try {
    while (!(await responses.next()).done);
  } catch {
  } finally {
    clearTimeout(timer);
  }
}

const resumesHeader = 'parley-resumes';

export interface FollowPromise {
  /**
   * Whether another replica can resume a lost stream after its last event. Without this promise, a field with an argument `after` is not
   * resumed.
   */
  resumes?: boolean;
}

export type FollowHeader = Pick<Metadata, 'get'>;

/** Returns what the response header of a stream promises. */
export function promiseOf(header: FollowHeader): Required<FollowPromise> {
  return { resumes: header.get(resumesHeader) === '1' };
}

/**
 * Called by the server of a method that clients call with `follow`. Sends the response header, which promises that the client gets
 * everything from now on. The first response may come much later.
 */
export function acknowledgeFollow(
  { header, sendHeader }: Pick<CallContext, 'header' | 'sendHeader'>,
  { resumes = false }: FollowPromise = {},
): void {
  header.set('parley-following', '1'); // gRPC would send an empty header only with the first response
  if (resumes) header.set(resumesHeader, '1');
  sendHeader();
}

/**
 * Called by the server of a method that clients call with `follow`. Returns the one request, and a signal that aborts when the client
 * closes its stream.
 * @param drainSignal ends the wait for the request.
 * @throws DomainError `invalid` when the request stream ends without a request
 * @throws DomainError `unavailable` when the server stops
 */
export async function acceptFollow<Request>(
  requests: AsyncIterable<Request>,
  drainSignal: AbortSignal,
): Promise<{ request: Request; closeSignal: AbortSignal }> {
  const iterator = requests[Symbol.asyncIterator]();
  const stopping = aborted(drainSignal, requests).then(() => undefined);
  const first = await Promise.race([iterator.next(), stopping]);
  if (!first) throw unavailable('This server is stopping');
  if (first.done) throw badRequest('The stream ended before its request');
  const closed = new AbortController();
  const wait = async () => {
    try {
      while (!(await iterator.next()).done); // further requests are ignored
    } finally {
      closed.abort();
    }
  };
  wait().catch(() => undefined); // the call was cancelled, or the connection lost
  return { request: first.value, closeSignal: closed.signal };
}
