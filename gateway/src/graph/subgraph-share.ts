import type { Caller } from '@parley/chassis/caller';
import type { Parties } from '@parley/chassis/fair-queue';

/**
 * The limits that a call to a subgraph counts against: the client address and one other. `anonymous` covers all callers
 * without a sign-in, so that a flood of sign-ins from many addresses cannot take every slot.
 */
export type SubgraphShare = 'address' | 'tenant' | 'user' | 'anonymous';

/**
 * @param isAttempt whether it is a sign-in attempt. Attempts have their own share, because password hashing is slow and
 * other public calls should not wait for it.
 */
export function sharesOf(
  { kind, tenantId, userId }: Caller,
  address: string,
  isAttempt: boolean,
): Parties<SubgraphShare> {
  if (kind === 'anonymous') return { address, anonymous: isAttempt ? 'attempts' : 'others' };
  return tenantId === null ? { address, user: userId } : { address, tenant: tenantId };
}
