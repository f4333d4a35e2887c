/** Wakes one loop. Raised several times before the loop waits, it wakes the loop once. */
export function createSignal() {
  const timers = new Set<NodeJS.Timeout>();
  const waits = new Set<() => void>();
  let isRaised = false;
  let isClosed = false;
  let wake: (() => void) | undefined;

  function after(delayMs: number, action: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, delayMs);
    timers.add(timer);
    return timer;
  }

  /** Waits until the timeout, `close`, or a call of the function that `begin` gets. */
  async function wait(timeoutMs: number, begin?: (end: () => void) => void): Promise<void> {
    if (isClosed) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        timers.delete(timer);
        waits.delete(end);
        resolve();
      };
      const timer = after(timeoutMs, end);
      waits.add(end);
      begin?.(end);
    });
  }

  function raise(): void {
    isRaised = true;
    wake?.();
  }

  return {
    get closed() {
      return isClosed;
    },
    raise,
    raiseIn(delayMs: number): void {
      if (!isClosed) after(delayMs, raise);
    },
    /** Resolves when raised since the last time, or after `timeoutMs`, or at once when closed. */
    async raised(timeoutMs: number): Promise<void> {
      if (!isRaised) await wait(timeoutMs, (end) => (wake = end));
      wake = undefined;
      isRaised = false;
    },
    /** Resolves after `durationMs` whatever is raised, or at once when closed. */
    pause: (durationMs: number) => wait(durationMs),
    /** Ends all waits and timers; later waits end at once. */
    close(): void {
      isClosed = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      for (const end of waits) end();
    },
  };
}
