import type { Caller } from '@parley/kernel/caller';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { type FairQueueLimits, fairQueue, type Release } from '@parley/kernel/queues/fair-queue';
import { enterQueue } from '../limits/enter-queue.ts';

export interface SubscriptionStarts {
  /**
   * Waits for a slot to start a subscription.
   * @returns a function to call once the owner has started or ended the subscription
   * @throws the same errors as `enterQueue`
   */
  begin(caller: Caller, signal: AbortSignal): Promise<Release>;
  readonly waiting: number;
}

export interface SubscriptionStartsOptions {
  limits: FairQueueLimits<'address' | 'tenant'>;
  timeoutMs: number;
  /** Time in ms after which a start releases its slot, even if the owner has not answered. */
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
