/** Changes are shown together, at most this often. */
const minPauseMs = 33;
/** Showing takes at most a fifth of the time, so that the page stays responsive however long a reply is. */
const pausePerCost = 4;

/** Time, which tests can hold still. */
export interface Clock {
  now: () => number;
  /** Runs it after that time. @returns what cancels it */
  after: (ms: number, run: () => void) => () => void;
}

const pageClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Calls `show` for changes, with a pause between that grows with what it costs. */
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
    /** After the pause, together with other changes until then. */
    soon(): void {
      cancel ??= clock.after(pauseMs, now);
    },
    close: () => cancel?.(),
  };
}
