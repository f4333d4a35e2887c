import { setImmediate as nextTick } from 'node:timers/promises';
import { measureJson } from '@parley/json-schema/json-size';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

/** Inputs below this size are processed immediately, without waiting in the queues. */
const smallBytes = 32_768;

/** Each piece of a tenant's work is followed by a pause twice as long as the piece, so that one tenant uses at most a third of a processor. */
const rest = 2;

/** Runs `work`, which processes `bytes` bytes that a remote server sent for the tenant. */
export type LargeWork = <T>(tenantId: number, bytes: number, work: () => T) => Promise<T>;

/** Schemas beyond these limits may take milliseconds to compile, so compiling them is large work. */
const smallSchema = { maxBytes: 8_192, maxDepth: 64, maxValues: 500 };

/** Returns the size of a schema for `LargeWork`: 0 if it is small, else infinite. Stops measuring at the limits of `smallSchema`. */
export function schemaBytes(schema: unknown): number {
  return measureJson(schema, smallSchema).problem === undefined ? 0 : Number.POSITIVE_INFINITY;
}

/**
 * Schedules processor-bound work on large responses, such as parsing. Pieces run one at a time, round robin by tenant, with a pause after
 * each piece of a tenant. Other code of the process runs between pieces, so that each step of another tenant's call waits for at most one
 * piece.
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
