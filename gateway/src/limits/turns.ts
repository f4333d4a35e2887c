import { unavailable } from '@parley/chassis/errors';
import type { EndCall, FairQueue, Parties } from '@parley/chassis/fair-queue';

export interface TurnOptions {
  /** Maximum wait in ms; then `unavailable`. */
  withinMs: number;
  /** Aborts the wait, with its reason. */
  signal?: AbortSignal;
  /** Part of an operation that has begun, so a full queue does not refuse it. */
  begun?: boolean;
}

/**
 * Waits for a slot of the queue. @returns a function that releases it.
 * @throws DomainError as `FairQueue.enter`; the abort reason of the signal.
 */
export async function takeTurn<Kind extends string>(
  queue: FairQueue<Kind>,
  parties: Parties<Kind>,
  { withinMs, signal, begun }: TurnOptions,
): Promise<EndCall> {
  signal?.throwIfAborted();
  const timeout = new AbortController();
  const leave = () => timeout.abort(signal?.reason);
  let timer: NodeJS.Timeout | undefined;
  // Called only when the call has to wait.
  const waitSignal = () => {
    timer = setTimeout(() => timeout.abort(unavailable('Too many requests at once; try again in a moment')), withinMs);
    signal?.addEventListener('abort', leave, { once: true });
    return timeout.signal;
  };
  try {
    return await queue.enter(parties, waitSignal, begun);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}
