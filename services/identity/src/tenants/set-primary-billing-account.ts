import type { TenantRequest } from '@parley/kernel/caller-request';
import type { MutationSetPrimaryBillingAccountArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { requireOwner, withLockedTenant } from './locked-tenant.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/** IDP_ONE raises the cap only where the operator has confirmed it; PLATFORM brings back the plan's, from the next call of a model on. */
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
