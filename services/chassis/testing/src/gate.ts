/** A door that lets callers through one by one, as a test opens it: things are held still without any sleep. */
export interface Gate {
  /** Resolves when a permit is there, or the gate stands open. */
  pass(): Promise<void>;
  /** Lets `permits` more callers through (default 1). */
  release(permits?: number): void;
  /** Lets everybody through from now on. */
  open(): void;
}

/** Makes a closed gate. */
export function createGate(): Gate {
  let permits = 0;
  const waiting: (() => void)[] = [];
  return {
    async pass() {
      if (permits > 0) permits -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    release(count = 1) {
      const through = waiting.splice(0, count);
      permits += count - through.length;
      for (const resolve of through) resolve();
    },
    open() {
      permits = Number.POSITIVE_INFINITY;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
