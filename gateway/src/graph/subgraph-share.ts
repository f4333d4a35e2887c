import type { Caller } from '@parley/chassis/caller';
import type { Parties } from '@parley/chassis/fair-queue';

/**
 * Whom a call to a subgraph counts for: an address; beside it a tenant, a user who is in none, or `anonymous`, which all callers
 * are together who are not signed in. Else a flood of sign-ins from many addresses would take every place.
 */
export type SubgraphShare = 'address' | 'tenant' | 'user' | 'anonymous';

/**
 * @param address of the client: an IPv4 address, or an IPv6 /64.
 * @param isAttempt it tries to get in, by a password or a code. Those have a share apart, so that whoever renews a sign-in, or
 * asks for what is public, does not wait for their hashes.
 */
export function sharesOf(
  { kind, tenantId, userId }: Caller,
  address: string,
  isAttempt: boolean,
): Parties<SubgraphShare> {
  if (kind === 'anonymous') return { address, anonymous: isAttempt ? 'attempts' : 'others' };
  return tenantId === null ? { address, user: userId } : { address, tenant: tenantId };
}
