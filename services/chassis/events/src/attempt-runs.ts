export type Outcome = { isHandled: true } | { isHandled: false; error: unknown };

/** The attempts at one event. An attempt may still be running after its timeout. */
export function attemptRuns(work: (signal: AbortSignal) => Promise<void>) {
  const unsettled = new Map<Promise<Outcome>, AbortController>();
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
    /** Number of attempts that have not settled yet. */
    get count() {
      return unsettled.size;
    },
    /** Whether an attempt has succeeded, within its timeout or later. */
    get hasSucceeded() {
      return hasSucceeded;
    },
    /**
     * Starts another attempt. Its signal aborts after `timeoutMs`; then the attempt gets `graceMs()` more to settle, unless `stopSignal`
     * aborts. If an earlier attempt succeeds in the meantime, resolves immediately.
     */
    async run(timeoutMs: number, graceMs: () => number, stopSignal: AbortSignal): Promise<Outcome> {
      const controller = new AbortController();
      const outcome = outcomeOf(controller.signal);
      unsettled.set(outcome, controller);
      void outcome.then(() => unsettled.delete(outcome));
      const known = Promise.race([outcome, success.promise]);
      const inTime = await waitFor(known, timeoutMs);
      if (inTime) return inTime;
      // The error is made before the abort, because the handler's own rejection after the abort does not explain the cause.
      const error = new Error(`The handler took longer than ${Math.round(timeoutMs)} ms`);
      controller.abort(error);
      const late = await waitFor(known, graceMs(), stopSignal);
      return late?.isHandled ? late : { isHandled: false, error };
    },
    /**
     * Resolves when an unsettled attempt settles, when `timeoutMs` has passed, or when `stopSignal` aborts. Resolves at once if no attempt
     * is unsettled.
     */
    async settled(timeoutMs: number, stopSignal: AbortSignal): Promise<void> {
      if (unsettled.size > 0) await waitFor(Promise.race(unsettled.keys()), timeoutMs, stopSignal);
    },
    /** Aborts all attempts that have not settled. */
    end(): void {
      for (const controller of unsettled.values()) controller.abort(new Error('Another attempt has handled the event'));
    },
  };
}

/** Waits for a promise. Resolves with undefined if `timeoutMs` passes or `stopSignal` aborts first. */
async function waitFor<T>(promise: Promise<T>, timeoutMs: number, stopSignal?: AbortSignal): Promise<T | undefined> {
  if (stopSignal?.aborted) return undefined;
  const ended = Promise.withResolvers<undefined>();
  const end = () => ended.resolve(undefined);
  const timer = setTimeout(end, timeoutMs);
  stopSignal?.addEventListener('abort', end);
  try {
    return await Promise.race([promise, ended.promise]);
  } finally {
    clearTimeout(timer);
    stopSignal?.removeEventListener('abort', end);
  }
}
