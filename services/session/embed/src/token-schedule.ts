/** Timers take at most this. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * When to refresh a token that is valid for `lifetimeMs`: after three quarters to four fifths of that, so that tabs and clients which began
 * at one time do not refresh at one time.
 */
export function refreshAfterMs(lifetimeMs: number, random: () => number = Math.random): number {
  return Math.min(maxTimerMs, Math.max(0, lifetimeMs * (0.75 + random() * 0.05)));
}
