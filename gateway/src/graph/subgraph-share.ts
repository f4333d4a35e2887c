import type { Caller } from '@parley/kernel/caller';
import type { Parties } from '@parley/kernel/queues/fair-queue';

/** `anonymous` covers all callers without a sign-in, so that a flood of sign-ins cannot take every slot. */
export type SubgraphShare = 'address' | 'tenant' | 'user' | 'anonymous';

/** @param isAttempt sign-in attempts have their own share, because their password hashing is slow. */
export function sharesOf(
  { kind, tenantId, userId }: Caller,
  address: string,
  isAttempt: boolean,
): Parties<SubgraphShare> {
  if (kind === 'anonymous') return { address, anonymous: isAttempt ? 'attempts' : 'others' };
  return tenantId === null ? { address, user: userId } : { address, tenant: tenantId };
}
