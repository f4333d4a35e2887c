/** Lets what is replayed on one socket through piece by piece, however many of its subscriptions replay at once. */
export interface ReplayPace {
  /** Resolves when the socket has room for one more, with what ends the turn once that has been sent. */
  turn(): Promise<() => void>;
}

/** @param drained resolves when little of what was sent before is still there. Rejects never. */
export function replayPace(drained: () => Promise<void>): ReplayPace {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async turn() {
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      await before;
      await drained();
      return resolve;
    },
  };
}
