/** The longest delay, in ms, that a timer supports. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Returns the time in ms after which to refresh a token: a random share of its lifetime between 75 % and 80 %, so that clients that started
 * together do not refresh together.
 */
export function refreshAfterMs(lifetimeMs: number, random: () => number = Math.random): number {
  return Math.min(maxTimerMs, Math.max(0, lifetimeMs * (0.75 + random() * 0.05)));
}
