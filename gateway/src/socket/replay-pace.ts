import type { Caller } from '@parley/kernel/caller';
import type { ReplayTurns } from './replay-turns.ts';

export interface ReplayPace {
  /** Waits for room and a turn. @returns a function that ends the turn. @throws the abort reason. */
  turn(caller: Pick<Caller, 'ip' | 'tenantId'>, signal: AbortSignal): Promise<() => void>;
}

/** @param drained resolves when the socket has room; never rejects. */
export function replayPace(drained: () => Promise<void>, turns: Pick<ReplayTurns, 'next'>): ReplayPace {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async turn(caller, signal) {
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      try {
        await before;
        await drained();
        const end = await turns.next(caller, signal);
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
