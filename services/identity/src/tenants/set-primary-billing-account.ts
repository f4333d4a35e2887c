import type { TenantRequest } from '@parley/kernel/caller-request';
import type { MutationSetPrimaryBillingAccountArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { requireOwner, withLockedTenant } from './locked-tenant.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * Sets the billing account. IDP_ONE raises the spending cap only if the operator has confirmed the account; PLATFORM restores the plan's
 * cap. The new cap applies from the next model call.
 */
export async function setPrimaryBillingAccount(
  ports: Ports,
  request: TenantRequest,
  { billingAccount }: MutationSetPrimaryBillingAccountArgs,
): Promise<Tenant> {
  const { tenantId } = signedIn(request.caller);
  const tenant = await withLockedTenant(ports, request, (db, locked) => {
    requireOwner(locked);
    return tenantStore(db).update(tenantId, { primaryBillingAccount: billingAccount });
  });
  await ports.announce({ $case: 'tenantId', value: tenantId });
  return tenant;
}
