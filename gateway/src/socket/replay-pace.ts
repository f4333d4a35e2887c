import type { Caller } from '@parley/chassis/caller';
import type { ReplayTurns } from './replay-turns.ts';

/** Lets what is replayed on one socket through piece by piece, however many of its subscriptions replay at once. */
export interface ReplayPace {
  /**
   * Resolves when the socket has room for one more and its turn among all sockets has come, with what ends the turn once that has
   * been sent.
   * @param signal aborts when nobody wants it any more: then this rejects with the signal's reason.
   */
  turn(caller: Pick<Caller, 'ip' | 'tenantId'>, signal: AbortSignal): Promise<() => void>;
}

/**
 * @param drained resolves when little of what was sent before is still there. Rejects never.
 * @param turns those of all sockets: one that has no room takes none.
 */
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
