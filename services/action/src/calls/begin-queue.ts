import { fairQueue } from '@parley/kernel/queues/fair-queue';

/** Fewer than a service has connections, so that queries always find one. */
const atOnce = 3;
const atOncePerTenant = 2;

export type BeginQueue = ReturnType<typeof beginQueue>;

/**
 * Transactions that begin calls, round robin by tenant: the database's pool hands out connections first come, first served, and hundreds of
 * calls may begin in one moment. Those that end calls wait for the row that counts their tenant's bytes, one of each tenant at a time.
 */
export function beginQueue() {
  const queue = fairQueue({ inFlight: atOnce, shares: { tenant: { inFlight: atOncePerTenant } } });
  /** @param signal ends the wait; its reason is then thrown. Without one `work` is always done. */
  return async <T>(tenantId: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const release = await queue.enter({ tenant: tenantId }, () => signal);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
