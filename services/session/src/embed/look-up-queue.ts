import { fairQueue } from '@parley/kernel/queues/fair-queue';

export type LookUpQueue = ReturnType<typeof lookUpQueue>;

/**
 * Queues queries whose cost grows with a customer's data: two at once, one per tenant, so that most database
 * connections stay free for conversations.
 * @returns a function that queues and runs `work`; the signal aborts the wait
 */
export function lookUpQueue() {
  const queue = fairQueue({ inFlight: 2, shares: { tenant: { inFlight: 1 } } });
  return async <T>(tenantId: number, work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const release = await queue.enter({ tenant: tenantId }, () => signal);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
