export interface BackoffOptions {
  firstMs: number;
  maxMs: number;
  /** From 0 to below 1. */
  random?: () => number;
}

/** The pause after `failures` failures in a row: doubling up to `maxMs`, a random half of it left out so that clients do not return at once. */
export function backoff({ firstMs, maxMs, random = Math.random }: BackoffOptions): (failures: number) => number {
  return (failures) => Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1)) * (1 - random() / 2);
}
