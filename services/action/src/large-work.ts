import { setImmediate as nextTick } from 'node:timers/promises';
import { measureJson } from '@parley/json-schema/json-size';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

/** What is smaller is worked on at once. */
const smallBytes = 32_768;

/** How long a tenant's next piece of work waits after one, in times of what that one took: together they take a third of a processor. */
const rest = 2;

/** Works on what a tenant was sent, of so many bytes. */
export type LargeWork = <T>(tenantId: number, bytes: number, work: () => T) => Promise<T>;

/** A schema that is larger than this may take some milliseconds to compile, and is counted as large. */
const smallSchema = { maxBytes: 8_192, maxDepth: 64, maxValues: 500 };

/** As the bytes of a schema, for `LargeWork`, without going through all of it. */
export function schemaBytes(schema: unknown): number {
  return measureJson(schema, smallSchema).problem === undefined ? 0 : Number.POSITIVE_INFINITY;
}

/**
 * Does the work that takes processor time in proportion to large answers, such as parsing them, one piece at a time, by tenant in turn
 * and with a rest for each. In between everything else goes on, so that calls of other tenants wait for one piece at most at each of
 * their steps.
 */
export function largeWork(): LargeWork {
  const tenants = fairQueue({ shares: { tenant: { inFlight: 1 } } });
  const all = fairQueue({ inFlight: 1, shares: { tenant: {} } });
  return async (tenantId, bytes, work) => {
    if (bytes < smallBytes) return work();
    const party = { tenant: tenantId };
    const endRest = await tenants.enter(party);
    const end = await all.enter(party);
    await nextTick();
    const beganMs = performance.now();
    try {
      return work();
    } finally {
      end();
      setTimeout(endRest, rest * (performance.now() - beganMs));
    }
  };
}
