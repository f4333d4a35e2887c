const defaultSearchMs = 1_500;

/**
 * The search interval of a sole owner. There are no other processes that could die, and a sole owner knows when its own jobs are due. So it
 * searches only for jobs whose claim or renewal failed.
 */
export const soleOwnerSearchMs = 10_000;

/** The longest pause between two searches, as a multiple of the interval. */
const longestPause = 1.25;

/**
 * Calculates a lease that is short enough for another process to claim the jobs of a dead process within `takeOverMs`. The lease is shorter
 * than `takeOverMs` by the longest pause between two searches, and by 5 % for the search and its claim.
 * @param searchIntervalMs default 1.5 s, or a twelfth of `takeOverMs` if that is less. An interval that is not shorter than `takeOverMs`
 * does not shorten the lease, because other processes then search.
 * @returns the length of leases and the average interval of searches, in ms; a runner randomizes the interval by a quarter.
 */
export function leaseTimes(takeOverMs: number, searchIntervalMs?: number) {
  const intervalMs = searchIntervalMs ?? Math.min(defaultSearchMs, takeOverMs / 12);
  if (intervalMs >= takeOverMs) return { leaseMs: takeOverMs, searchIntervalMs: intervalMs };
  const leftMs = takeOverMs * 0.95 - intervalMs * longestPause;
  return { leaseMs: Math.ceil(Math.max(leftMs, takeOverMs / 2)), searchIntervalMs: intervalMs };
}
