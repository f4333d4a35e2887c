import type { Caller } from '@parley/kernel/caller';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { fairQueue, type Release } from '@parley/kernel/queues/fair-queue';

/** Schedules replayed events of all sockets round-robin, and yields to the event loop between them. */
export interface ReplayScheduler {
  /** @returns a function to call once the event has been sent. @throws the signal's reason if it aborts. */
  next(caller: Pick<Caller, 'ip' | 'tenantId'>, signal: AbortSignal): Promise<Release>;
  readonly waiting: number;
}

/** @param sliceMs maximum time for replays in one iteration of the event loop. Default 2: ten iterations delay other work by some 20 ms. */
export function replayScheduler(sliceMs = 2): ReplayScheduler {
  const queue = fairQueue<'address' | 'tenant'>({ inFlight: 1, shares: { address: {}, tenant: {} } });
  let roundEndsAt: number | undefined;

  function beginRound(): void {
    roundEndsAt = performance.now() + sliceMs;
    setImmediate(() => {
      roundEndsAt = undefined;
    });
  }

  return {
    async next({ ip = '', tenantId }, signal) {
      const end = await queue.enter({ address: clientNetwork(ip), tenant: tenantId }, () => signal);
      if (roundEndsAt === undefined) beginRound();
      return () => {
        if (roundEndsAt !== undefined && performance.now() >= roundEndsAt) setImmediate(end);
        else end();
      };
    },
    get waiting() {
      return queue.waiting;
    },
  };
}
