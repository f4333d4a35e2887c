import { eventually } from '@parley/testing/eventually';

/**
 * The timeout is three times the sum of one second and this number of round trips. This timeout is far below the polling interval of
 * several seconds, so that polling cannot hide a lost announcement.
 */
const roundTrips = 20;

/**
 * Waits for a change that must reach every process within a second. On a busy machine the timeout is longer, in proportion to the duration
 * of a plain request at that moment.
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
