import { unavailable } from '@parley/chassis/errors';
import type { EndCall, FairQueue, Parties } from '@parley/chassis/fair-queue';

export interface TurnOptions {
  /** How long the turn may take to come, in ms; then it is `unavailable`. */
  withinMs: number;
  /** Aborts when nobody waits any more: then it is left, with that signal's reason. */
  signal?: AbortSignal;
  /** It is a part of something that has begun, and not refused for how many wait. */
  begun?: boolean;
}

/**
 * Resolves when it is the turn of these parties, with what says that it is over.
 * @throws DomainError as `FairQueue.enter` does; what `signal` aborted with.
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
  // Asked for only where it has to wait.
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
