import { unavailable } from '@parley/kernel/errors';
import type { FairQueue, Parties, Release } from '@parley/kernel/queues/fair-queue';

export interface QueueOptions {
  /** Maximum wait in ms. After this time, `enterQueue` throws `unavailable`. */
  withinMs: number;
  signal?: AbortSignal;
  /** Set for calls of an operation that has begun: a full queue does not refuse them. */
  begun?: boolean;
}

/** Waits for a slot and returns a function that releases it. @throws the errors of `FairQueue.enter`; the signal's reason if it aborts */
export async function enterQueue<Kind extends string>(
  queue: FairQueue<Kind>,
  parties: Parties<Kind>,
  { withinMs, signal, begun }: QueueOptions,
): Promise<Release> {
  signal?.throwIfAborted();
  const cancel = new AbortController();
  const abort = () => cancel.abort(signal?.reason);
  let timer: NodeJS.Timeout | undefined;
  // Called only when the call has to wait.
  const waitSignal = () => {
    timer = setTimeout(() => cancel.abort(unavailable('Too many requests at once; try again in a moment')), withinMs);
    signal?.addEventListener('abort', abort, { once: true });
    return cancel.signal;
  };
  try {
    return await queue.enter(parties, waitSignal, begun);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
