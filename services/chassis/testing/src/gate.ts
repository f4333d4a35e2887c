/** A semaphore with which a test holds work at a point, instead of sleeping. */
export interface Gate {
  /** Resolves when there is a permit, or when the gate is open. */
  pass(): Promise<void>;
  /** Adds permits (default 1), each for one `pass`. */
  release(permits?: number): void;
  /** Opens the gate: from now on every `pass` resolves. */
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
      const released = waiting.splice(0, count);
      permits += count - released.length;
      for (const resolve of released) resolve();
    },
    open() {
      permits = Number.POSITIVE_INFINITY;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
