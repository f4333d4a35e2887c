import type { Caller } from '@parley/chassis/caller';
import { clientNetwork } from '@parley/chassis/client-network';
import { type EndCall, type FairQueueLimits, fairQueue } from '@parley/chassis/fair-queue';
import { takeTurn } from '../limits/turns.ts';

/** Lets subscriptions begin in turn. What one costs is at its beginning: who may read, and from where. */
export interface SubscriptionStarts {
  /**
   * Resolves when a subscription of this caller may begin, with what is to be called once it has: it hears everything from then on, or
   * has ended with whoever owns it. Who leaves before that has not ended what was begun.
   * @param signal aborts when the client has unsubscribed or gone: it waits no more then, and this rejects with the signal's reason.
   * @throws DomainError `tooManyRequests` when as many of the client or its tenant wait as may, `unavailable` when the turn does not
   * come.
   */
  begin(caller: Caller, signal: AbortSignal): Promise<EndCall>;
  /** Subscriptions that wait for their turn. */
  readonly waiting: number;
}

export interface SubscriptionStartsOptions {
  limits: FairQueueLimits<'address' | 'tenant'>;
  /** How long a turn may take to come, in ms. */
  timeoutMs: number;
  /**
   * How long one may be beginning, in ms; then the next may begin, too. A service of a version before says only with its first
   * event that a subscription has begun.
   */
  longestMs: number;
}

export function subscriptionStarts({ limits, timeoutMs, longestMs }: SubscriptionStartsOptions): SubscriptionStarts {
  const queue = fairQueue(limits);
  return {
    async begin({ ip = '', tenantId }, signal) {
      const end = await takeTurn(
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
