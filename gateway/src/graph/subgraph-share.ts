import type { Caller } from '@parley/kernel/caller';
import { widerNetwork, widestNetwork } from '@parley/kernel/http/client-network';
import type { FairQueueLimits, Parties } from '@parley/kernel/queues/fair-queue';

/** `anonymous` limits the calls of callers without a sign-in, so that a flood of sign-in attempts cannot take every slot. */
export type SubgraphShare = 'address' | 'tenant' | 'user' | 'anonymous';

/** `known`: an attempt from a client network where a sign-in succeeded in the last 30 days. */
export type Attempt = 'new' | 'known';

/**
 * `site`: an IPv4 /24 or IPv6 /48; `provider`: a /16 or /32. An attacker with many addresses often has them in few networks. If slots were
 * shared by address, other clients would wait for all of the attacker's addresses.
 */
export type AttemptShare = 'site' | 'provider';

/** @param address the result of `clientNetwork` */
export function sharesOf(
  { kind, tenantId, userId }: Caller,
  address: string,
  attempt: Attempt | undefined,
): Parties<SubgraphShare> {
  // Attempts have already passed a queue that shares slots between addresses.
  if (attempt) return { anonymous: `${attempt} attempts` };
  if (kind === 'anonymous') return { address, anonymous: 'others' };
  return tenantId === null ? { address, user: userId } : { address, tenant: tenantId };
}

/** @param address the result of `clientNetwork` */
export function attemptSharesOf(address: string): Parties<AttemptShare> {
  const within = address.replace(/\/64$/u, '');
  return { site: widerNetwork(within), provider: widestNetwork(within) };
}

/**
 * Limits of the queue for one kind of attempt. Attempts pass this queue before the queue of all calls. The queue of all calls treats the
 * attempts as one party and runs them first in, first out. Fairness between networks therefore needs this separate queue.
 */
export function attemptLimits({
  shares: { address, anonymous },
  longestWaitMs,
}: FairQueueLimits<SubgraphShare>): FairQueueLimits<AttemptShare> {
  return {
    ...anonymous,
    ...(longestWaitMs !== undefined && { longestWaitMs }),
    shares: { site: address, provider: {} },
  };
}
