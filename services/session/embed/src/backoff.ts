export interface BackoffOptions {
  firstMs: number;
  maxMs: number;
  /** Returns a number from 0 up to, but not including, 1. */
  random?: () => number;
}

/**
 * Returns a function that computes the pause after a number of consecutive failures. The pause doubles with each failure up to `maxMs`. It
 * is then shortened at random by up to half, so that clients do not all retry at the same time.
 */
export function backoff({ firstMs, maxMs, random = Math.random }: BackoffOptions): (failures: number) => number {
  return (failures) => Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1)) * (1 - random() / 2);
}
