export type CallClock = ReturnType<typeof callClock>;

/** The longest that a timer can be set to. */
const maxTimerMs = 2 ** 31 - 1;

/** A time limit for calls, which stands still between them and while they wait for a slot. It stands at first. */
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
    /** Aborts once calls have run for so long. */
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

/** Waits without that being counted. */
export async function untimed<Result>(clocks: readonly CallClock[], wait: () => Promise<Result>): Promise<Result> {
  for (const clock of clocks) clock.stop();
  try {
    return await wait();
  } finally {
    for (const clock of clocks) clock.start();
  }
}
