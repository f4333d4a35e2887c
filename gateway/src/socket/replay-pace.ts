import type { Caller } from '@parley/kernel/caller';
import type { ReplayScheduler } from './replay-scheduler.ts';

export interface ReplayPace {
  /**
   * Waits until the socket has room and the scheduler has a free slot. @returns a function that frees the slot. @throws the signal's reason
   * if it aborts.
   */
  next(caller: Pick<Caller, 'ip' | 'tenantId'>, signal: AbortSignal): Promise<() => void>;
}

/** @param drained resolves when the socket has room; never rejects. */
export function replayPace(drained: () => Promise<void>, scheduler: Pick<ReplayScheduler, 'next'>): ReplayPace {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async next(caller, signal) {
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      try {
        await before;
        await drained();
        const end = await scheduler.next(caller, signal);
        return () => {
          end();
          resolve();
        };
      } catch (error) {
        resolve();
        throw error;
      }
    },
  };
}
