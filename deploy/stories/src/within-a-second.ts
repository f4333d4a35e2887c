import { eventually } from '@parley/testing/eventually';

/** A second and as many round trips, three times over: far below the looks every few seconds that would hide a lost announcement. */
const roundTrips = 20;

/**
 * Waits for what everybody knows a second after a change. On a machine that is busy with other tests more is allowed, by what a
 * plain request takes at that moment.
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
