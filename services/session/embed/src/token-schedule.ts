/** The longest delay of a timer. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * When to refresh a token that is valid for `lifetimeMs`: at a random point between 75 % and 80 % of it, so that clients that started together
 * do not refresh together.
 */
export function refreshAfterMs(lifetimeMs: number, random: () => number = Math.random): number {
  return Math.min(maxTimerMs, Math.max(0, lifetimeMs * (0.75 + random() * 0.05)));
}
