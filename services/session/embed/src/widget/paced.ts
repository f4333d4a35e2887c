/** The shortest pause, in ms, between two updates of the page. One update shows all changes that occur during the pause. */
const minPauseMs = 33;
/** Each pause is this many times as long as the update before it took, so that the page stays responsive however long a reply is. */
const pausePerCost = 4;

/** A source of time and timers that tests can control. */
export interface Clock {
  now: () => number;
  /** Calls `run` after `ms`. @returns a function that cancels this call */
  after: (ms: number, run: () => void) => () => void;
}

const pageClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Limits how often `show` is called: the pause after a call grows with the time that the call took. */
export function paced(show: () => void, clock = pageClock) {
  let cancel: (() => void) | undefined;
  let pauseMs = minPauseMs;

  function now(): void {
    cancel?.();
    cancel = undefined;
    const began = clock.now();
    show();
    pauseMs = Math.max(minPauseMs, (clock.now() - began) * pausePerCost);
  }

  return {
    now,
    /** Schedules `show` at the end of the pause. Further calls during the pause have no effect. */
    soon(): void {
      cancel ??= clock.after(pauseMs, now);
    },
    close: () => cancel?.(),
  };
}
