import { fairQueue } from '@parley/kernel/queues/fair-queue';

/** Maximum concurrent transactions. Fewer than the connections of the pool, so that queries always find a free connection. */
const atOnce = 3;
const atOncePerTenant = 2;

export type BeginQueue = ReturnType<typeof beginQueue>;

/**
 * Queues the transactions that begin calls, round robin by tenant. The connection pool itself is first come,
 * first served, so a tenant that begins hundreds of calls at once would delay all others.
 */
export function beginQueue() {
  const queue = fairQueue({ inFlight: atOnce, shares: { tenant: { inFlight: atOncePerTenant } } });
  /** @param signal aborts the wait and rejects with its reason; without a signal, `work` always runs */
  return async <T>(tenantId: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const release = await queue.enter({ tenant: tenantId }, () => signal);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
