export type CallClock = ReturnType<typeof callClock>;

/** The longest delay that a timer accepts. */
const maxTimerMs = 2 ** 31 - 1;

/** Creates a time limit for calls. Its clock is paused at the start, between calls, and while a call waits for a slot. */
export function callClock(limitMs: number) {
  const over = new AbortController();
  let holds = 1;
  let ranMs = 0;
  let startedAt = 0;
  let timer: NodeJS.Timeout | undefined;

  function start(): void {
    holds -= 1;
    if (holds > 0 || over.signal.aborted) return;
    startedAt = performance.now();
    timer = setTimeout(() => over.abort(), Math.min(Math.max(0, limitMs - ranMs), maxTimerMs));
  }

  function stop(): void {
    if (holds === 0) {
      ranMs += performance.now() - startedAt;
      clearTimeout(timer);
    }
    holds += 1;
  }

  return {
    /** Aborts once the running time reaches the limit. */
    signal: over.signal,
    start,
    stop,
    get isOver(): boolean {
      return over.signal.aborted || ranMs >= limitMs;
    },
    get ranMs(): number {
      return holds === 0 ? ranMs + performance.now() - startedAt : ranMs;
    },
  };
}

/** Pauses these clocks until `wait` has settled. */
export async function untimed<Result>(clocks: readonly CallClock[], wait: () => Promise<Result>): Promise<Result> {
  for (const clock of clocks) clock.stop();
  try {
    return await wait();
  } finally {
    for (const clock of clocks) clock.start();
  }
}
