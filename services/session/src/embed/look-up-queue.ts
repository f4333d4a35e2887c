import { fairQueue } from '@parley/kernel/queues/fair-queue';

export type LookUpQueue = ReturnType<typeof lookUpQueue>;

/**
 * Turns of queries that grow with what a customer has: two at once and one of each tenant, so that most connections to the database stay
 * free for conversations. @returns a function that runs `work` in its turn; the signal ends the wait
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
