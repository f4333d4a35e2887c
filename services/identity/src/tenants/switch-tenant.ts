import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { userStore } from '../accounts/user-store.ts';
import type { MutationSwitchTenantArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * Switches this sign-in to another tenant of its user. Later sign-ins start in that tenant too. The tenant is not locked: if it was just
 * deleted, or the user's membership has just ended, the sign-in has no tenant.
 * @throws `notFound` if the tenant is deleted, or the user is not a member
 * @throws the errors of `withLockedSignIn`
 */
export async function switchTenant(
  ports: Ports,
  request: CallerRequest,
  { id }: MutationSwitchTenantArgs,
): Promise<Tenant> {
  const { userId, signInId } = signedIn(request.caller);
  const tenant = await withLockedSignIn(ports, request, async (db) => {
    const found = await tenantStore(db).findLiveForMember(id, userId);
    if (!found) throw notFound('Tenant', id);
    await signInStore(db).setTenant(signInId, id);
    await userStore(db).setLastTenant(userId, id);
    return found;
  });
  await ports.announce({ $case: 'signInId', value: signInId });
  return tenant;
}
