export interface BackoffOptions {
  /** The pause after the first failure. */
  firstMs: number;
  /** The longest pause. */
  maxMs: number;
  /** Shortens each pause at random, by half at most, so that those who failed together do not all come back together. Default false. */
  jitter?: boolean;
  /** As `Math.random`, which is the default. */
  random?: () => number;
}

/** Beyond it no pause is any longer, and the power of 2 would end as infinity. */
const maxDoublings = 31;

/** How long to pause after so many failures (1, 2, …) in a row, in ms: doubled by each. */
export function backoff({ firstMs, maxMs, jitter = false, random = Math.random }: BackoffOptions) {
  return (failures: number): number => {
    const pauseMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings));
    return jitter ? pauseMs * (0.5 + random() / 2) : pauseMs;
  };
}
