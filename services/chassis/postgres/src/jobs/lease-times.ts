const defaultSearchMs = 1_500;

/**
 * The search interval of a sole owner. A sole owner has no dead process whose jobs it could find, and knows when its own jobs are due. So
 * it searches only for jobs whose claim or renewal failed.
 */
export const soleOwnerSearchMs = 10_000;

/** The longest pause between two searches, as a multiple of the interval. */
const longestPause = 1.25;

/**
 * Calculates a lease that is short enough for another process to claim the jobs of a dead one within `takeOverMs`. The rest of `takeOverMs`
 * is the longest pause between two searches, and 5 % for the search and its claim.
 * @param searchIntervalMs default 1.5 s, or a twelfth of `takeOverMs` if that is less. If the interval is not shorter than `takeOverMs`, it
 * does not shorten the lease: other processes search then.
 * @returns the length of leases and the average interval of searches, in ms; a runner randomizes the interval by a quarter.
 */
export function leaseTimes(takeOverMs: number, searchIntervalMs?: number) {
  const intervalMs = searchIntervalMs ?? Math.min(defaultSearchMs, takeOverMs / 12);
  if (intervalMs >= takeOverMs) return { leaseMs: takeOverMs, searchIntervalMs: intervalMs };
  const leftMs = takeOverMs * 0.95 - intervalMs * longestPause;
  return { leaseMs: Math.ceil(Math.max(leftMs, takeOverMs / 2)), searchIntervalMs: intervalMs };
}
