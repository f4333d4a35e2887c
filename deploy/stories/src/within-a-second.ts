import { eventually } from '@parley/testing/eventually';

/** Three times a second and these round trips: far below the polling interval of several seconds, which would hide a lost announcement. */
const roundTrips = 20;

/**
 * Waits for a change that must reach every process within a second. A busy machine gets more time, by the duration of a plain
 * request at that moment.
 */
export async function withinASecond<T>(url: string, what: string, check: () => T | Promise<T>) {
  const from = performance.now();
  const trip = async () => {
    const asked = performance.now();
    await (await fetch(url, { method: 'OPTIONS' })).arrayBuffer();
    return performance.now() - asked;
  };
  const tripMs = Math.max(await trip(), await trip());
  const timeoutMs = 3 * (1_000 + roundTrips * tripMs) - (performance.now() - from);
  return eventually(what, check, { timeoutMs });
}
