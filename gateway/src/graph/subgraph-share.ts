import type { Caller } from '@parley/kernel/caller';
import { widerNetwork, widestNetwork } from '@parley/kernel/http/client-network';
import type { FairQueueLimits, Parties } from '@parley/kernel/queues/fair-queue';

/** `anonymous` covers all callers without a sign-in, so that a flood of sign-ins cannot take every slot. */
export type SubgraphShare = 'address' | 'tenant' | 'user' | 'anonymous';

/** `known`: an attempt from a client network where a sign-in succeeded lately. */
export type Attempt = 'new' | 'known';

/**
 * `site`: an IPv4 /24 or IPv6 /48; `provider`: a /16 or /32. Whoever has many addresses often has them in few networks, and others
 * would wait for a turn of each.
 */
export type AttemptShare = 'site' | 'provider';

/** @param address as `clientNetwork` gives it */
export function sharesOf(
  { kind, tenantId, userId }: Caller,
  address: string,
  attempt: Attempt | undefined,
): Parties<SubgraphShare> {
  // Its address has its share in the queue of attempts.
  if (attempt) return { anonymous: `${attempt} attempts` };
  if (kind === 'anonymous') return { address, anonymous: 'others' };
  return tenantId === null ? { address, user: userId } : { address, tenant: tenantId };
}

/** @param address as `clientNetwork` gives it */
export function attemptSharesOf(address: string): Parties<AttemptShare> {
  const within = address.replace(/\/64$/u, '');
  return { site: widerNetwork(within), provider: widestNetwork(within) };
}

/**
 * The limits of a queue that attempts of one kind pass before the one of all calls. In that one the attempts are a single party,
 * whose calls begin in the order in which they come: turns by network need a queue of their own.
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
