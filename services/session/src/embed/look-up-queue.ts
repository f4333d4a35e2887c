import { fairQueue } from '@parley/kernel/queues/fair-queue';

export type LookUpQueue = ReturnType<typeof lookUpQueue>;

/**
 * Creates a queue for queries whose cost grows with a customer's data. No more than two queries run at once, and no more than one per
 * tenant, so that most database connections stay free for conversations.
 * @returns a function that queues and then runs `work`; if the signal aborts, the function stops waiting
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
