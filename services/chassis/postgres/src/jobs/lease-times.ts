/** How long leases are, and how often is looked for those that have run out. In ms. */
export interface LeaseTimes {
  leaseMs: number;
  /** On average; a quarter less or more. */
  searchIntervalMs: number;
}

const usualSearchMs = 1_500;

/** What of the interval the longest pause between two searches takes. */
const longestPause = 1.25;

/**
 * Leases that are short enough for another process to have found the jobs of a silent one within `takeOverMs`: what is left of
 * that is the longest pause between two searches, and a twentieth for the search itself and its claim.
 * @param searchIntervalMs default 1.5 s, or a twelfth of the time where that is less. One that is longer than all of
 * the time has others look, and takes nothing off the lease.
 */
export function leaseTimes(takeOverMs: number, searchIntervalMs?: number): LeaseTimes {
  const intervalMs = searchIntervalMs ?? Math.min(usualSearchMs, takeOverMs / 12);
  if (intervalMs >= takeOverMs) return { leaseMs: takeOverMs, searchIntervalMs: intervalMs };
  const leftMs = takeOverMs * 0.95 - intervalMs * longestPause;
  return { leaseMs: Math.ceil(Math.max(leftMs, takeOverMs / 2)), searchIntervalMs: intervalMs };
}
