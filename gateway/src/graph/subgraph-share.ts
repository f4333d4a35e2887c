import type { Caller } from '@parley/kernel/caller';
import { widerNetwork } from '@parley/kernel/http/client-network';
import type { Parties } from '@parley/kernel/queues/fair-queue';

/** `anonymous` covers all callers without a sign-in, so that a flood of sign-ins cannot take every slot. */
export type SubgraphShare = 'address' | 'tenant' | 'user' | 'anonymous';

/**
 * @param address as `clientNetwork` gives it
 * @param isAttempt sign-in attempts have their own share, because their password hashing is slow. A wider network counts as one client in it: whoever
 * has many addresses often has them in few networks, and others would wait for a turn of each.
 */
export function sharesOf(
  { kind, tenantId, userId }: Caller,
  address: string,
  isAttempt: boolean,
): Parties<SubgraphShare> {
  if (kind === 'anonymous' && isAttempt) {
    return { address: widerNetwork(address.replace(/\/64$/u, '')), anonymous: 'attempts' };
  }
  if (kind === 'anonymous') return { address, anonymous: 'others' };
  return tenantId === null ? { address, user: userId } : { address, tenant: tenantId };
}
