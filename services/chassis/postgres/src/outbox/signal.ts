import { sleep } from '@parley/kernel/timing/timers';

/** Wakes one loop. If the signal is raised several times before the loop waits, it wakes the loop once. */
export function createSignal() {
  const closing = new AbortController();
  let next = Promise.withResolvers<void>();
  const raise = () => next.resolve();

  return {
    get closed() {
      return closing.signal.aborted;
    },
    raise,
    raiseIn(delayMs: number): void {
      void sleep(delayMs, closing.signal).then(raise);
    },
    /**
     * Resolves at once if the signal was raised since the last wait. Otherwise resolves when the signal is raised or closed, or after
     * `timeoutMs`.
     */
    async raised(timeoutMs: number): Promise<void> {
      const waited = new AbortController();
      const endSignal = AbortSignal.any([closing.signal, waited.signal]);
      await Promise.race([next.promise, sleep(timeoutMs, endSignal)]);
      waited.abort(); // ends the timer
      next = Promise.withResolvers();
    },
    /** Resolves after `durationMs`, even if the signal is raised earlier. Resolves at once when the signal is closed. */
    pause: (durationMs: number): Promise<void> => sleep(durationMs, closing.signal),
    /** Ends all waits and timers; later waits end at once. */
    close: (): void => closing.abort(),
  };
}
