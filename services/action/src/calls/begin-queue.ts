import { fairQueue } from '@parley/kernel/queues/fair-queue';

/** Maximum concurrent transactions. The pool has more connections than this, so that queries always find a free one. */
const atOnce = 3;
const atOncePerTenant = 2;

export type BeginQueue = ReturnType<typeof beginQueue>;

/**
 * Queues the transactions that begin calls, round robin by tenant. The connection pool itself is first come,
 * first served, so a tenant that begins hundreds of calls at once would delay all others.
 */
export function beginQueue() {
  const queue = fairQueue({ inFlight: atOnce, shares: { tenant: { inFlight: atOncePerTenant } } });
  /** @param signal ends the wait: the promise then rejects with the signal's reason. Without a signal, `work` always runs */
  return async <T>(tenantId: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const release = await queue.enter({ tenant: tenantId }, () => signal);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
