export interface BackoffOptions {
  /** The pause after the first failure. */
  firstMs: number;
  /** The longest pause. */
  maxMs: number;
  /** Shortens each pause at random, by at most half, so that clients that failed together do not retry together. Default false. */
  jitter?: boolean;
  /** A replacement for `Math.random`, which is the default. */
  random?: () => number;
}

/** Bounds the exponent: the power of two would otherwise overflow to infinity. */
const maxDoublings = 31;

/** Returns the pause in ms after a number of consecutive failures (1, 2, …); the pause doubles with each failure. */
export function backoff({ firstMs, maxMs, jitter = false, random = Math.random }: BackoffOptions) {
  return (failures: number): number => {
    const pauseMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, maxDoublings));
    return jitter ? pauseMs * (0.5 + random() / 2) : pauseMs;
  };
}
