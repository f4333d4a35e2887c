import type { Caller } from '@parley/chassis/caller';
import { clientNetwork } from '@parley/chassis/client-network';
import { type EndCall, fairQueue } from '@parley/chassis/fair-queue';

/** Lets what is replayed on all sockets through one event at a time, clients in turn, so that the process gets to everything else. */
export interface ReplayTurns {
  /**
   * Resolves when an event that is replayed for this caller may be worked on, with what is to be called once it has been sent.
   * @param signal aborts when nobody wants the event any more: then this rejects with the signal's reason.
   */
  next(caller: Pick<Caller, 'ip' | 'tenantId'>, signal: AbortSignal): Promise<EndCall>;
  /** Events that wait for their turn. */
  readonly waiting: number;
}

/**
 * @param sliceMs how long events are worked on before the event loop goes round, in ms. Default 2: a request that needs ten
 * rounds is delayed by some 20 ms, and going round costs the replays little.
 */
export function replayTurns(sliceMs = 2): ReplayTurns {
  const queue = fairQueue<'address' | 'tenant'>({ underWay: 1, shares: { address: {}, tenant: {} } });
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
