import type { Caller } from '@parley/kernel/caller';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { type FairQueueLimits, fairQueue, type Release } from '@parley/kernel/queues/fair-queue';
import { enterQueue } from '../limits/enter-queue.ts';

export interface SubscriptionStarts {
  /** @returns a function to call once it has started or ended at its owner. @throws as `enterQueue` */
  begin(caller: Caller, signal: AbortSignal): Promise<Release>;
  readonly waiting: number;
}

export interface SubscriptionStartsOptions {
  limits: FairQueueLimits<'address' | 'tenant'>;
  timeoutMs: number;
  /** After this time in ms the next may start, although this one has not begun. */
  longestMs: number;
}

export function subscriptionStarts({ limits, timeoutMs, longestMs }: SubscriptionStartsOptions): SubscriptionStarts {
  const queue = fairQueue(limits);
  return {
    async begin({ ip = '', tenantId }, signal) {
      const end = await enterQueue(
        queue,
        { address: clientNetwork(ip), tenant: tenantId },
        { withinMs: timeoutMs, signal },
      );
      const timer = setTimeout(end, longestMs);
      return () => {
        clearTimeout(timer);
        end();
      };
    },
    get waiting() {
      return queue.waiting;
    },
  };
}
