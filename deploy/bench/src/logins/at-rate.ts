import { setTimeout as delay } from 'node:timers/promises';

/** Something that goes on until it is told to end. */
export interface Running {
  /** Begins nothing more, waits for what is under way, and answers what was measured. */
  end(): Promise<number[]>;
}

export interface AtRateOptions {
  /** Calls a second. */
  rate: number;
  /** Answers what is measured. */
  work: (index: number) => Promise<number>;
  /** Hears of calls that failed; those count as endless. */
  onFailure: (error: unknown) => void;
}

/** Calls each when it is due, however long those before it take: people do not wait for each other. */
export function atRate({ rate, work, onFailure }: AtRateOptions): Running {
  const ending = new AbortController();
  const begunAt = performance.now();
  const calls: Promise<number>[] = [];

  async function run(): Promise<void> {
    for (let index = 0; !ending.signal.aborted; index += 1) {
      const waitMs = begunAt + (index * 1_000) / rate - performance.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal: ending.signal }).catch(() => undefined);
      if (ending.signal.aborted) return;
      calls.push(
        work(index).catch((error: unknown) => {
          onFailure(error);
          return Number.POSITIVE_INFINITY;
        }),
      );
    }
  }
  const running = run();
  return {
    async end() {
      ending.abort();
      await running;
      return Promise.all(calls);
    },
  };
}
