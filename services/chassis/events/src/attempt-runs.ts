export type Outcome = { isHandled: true } | { isHandled: false; error: unknown };

/** The attempts at one event, of which some may go on past the end of their time. */
export interface AttemptRuns {
  /** How many have not settled yet. */
  readonly count: number;
  /** Whether one has succeeded, in its time or later. */
  readonly hasSucceeded: boolean;
  /**
   * Begins one more. Its signal aborts after `timeoutMs`; then it has what `graceMs` says to settle, unless `stopped`.
   * Resolves at once when an earlier one succeeds meanwhile.
   */
  run(timeoutMs: number, graceMs: () => number, stopped: AbortSignal): Promise<Outcome>;
  /** Resolves when one settles that has not yet, at the latest after so many ms, or when `stopped` aborts. */
  settled(timeoutMs: number, stopped: AbortSignal): Promise<void>;
  /** Tells all that have not settled to end. */
  end(): void;
}

export function attemptRuns(work: (signal: AbortSignal) => Promise<void>): AttemptRuns {
  const underWay = new Map<Promise<Outcome>, AbortController>();
  const success = Promise.withResolvers<Outcome>();
  let hasSucceeded = false;

  async function outcomeOf(signal: AbortSignal): Promise<Outcome> {
    try {
      await work(signal);
    } catch (error) {
      return { isHandled: false, error };
    }
    hasSucceeded = true;
    success.resolve({ isHandled: true });
    return { isHandled: true };
  }

  return {
    get count() {
      return underWay.size;
    },
    get hasSucceeded() {
      return hasSucceeded;
    },
    async run(timeoutMs, graceMs, stopped) {
      const controller = new AbortController();
      const outcome = outcomeOf(controller.signal);
      underWay.set(outcome, controller);
      void outcome.then(() => underWay.delete(outcome));
      const known = Promise.race([outcome, success.promise]);
      const inTime = await waitFor(known, timeoutMs);
      if (inTime) return inTime;
      // Made before it is told to end: what it answers to that is no news.
      const error = new Error(`The handler took longer than ${Math.round(timeoutMs)} ms`);
      controller.abort(error);
      const late = await waitFor(known, graceMs(), stopped);
      return late?.isHandled ? late : { isHandled: false, error };
    },
    async settled(timeoutMs, stopped) {
      if (underWay.size > 0) await waitFor(Promise.race(underWay.keys()), timeoutMs, stopped);
    },
    end() {
      for (const controller of underWay.values()) controller.abort(new Error('Another attempt has handled the event'));
    },
  };
}

/** Undefined when the time was over first, or `stopped` aborted. */
async function waitFor<T>(promise: Promise<T>, timeoutMs: number, stopped?: AbortSignal): Promise<T | undefined> {
  if (stopped?.aborted) return undefined;
  const over = Promise.withResolvers<undefined>();
  const end = () => over.resolve(undefined);
  const timer = setTimeout(end, timeoutMs);
  stopped?.addEventListener('abort', end);
  try {
    return await Promise.race([promise, over.promise]);
  } finally {
    clearTimeout(timer);
    stopped?.removeEventListener('abort', end);
  }
}
