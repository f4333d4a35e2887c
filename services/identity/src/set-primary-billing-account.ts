import type { Caller } from '@parley/kernel/caller';
import type { MutationSetPrimaryBillingAccountArgs } from './generated/schema.ts';
import { requireOwner, withLockedTenant } from './locked-tenant.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/** IDP_ONE raises the cap only where the operator has confirmed it; PLATFORM brings back the plan's, from the next call of a model on. */
export async function setPrimaryBillingAccount(
  ports: Ports,
  caller: Caller,
  { billingAccount }: MutationSetPrimaryBillingAccountArgs,
  signal?: AbortSignal,
): Promise<Tenant> {
  const user = signedInToTenant(caller);
  const tenant = await withLockedTenant(ports, user, signal, (db, locked) => {
    requireOwner(locked);
    return tenantStore(db).update(user.tenantId, { primaryBillingAccount: billingAccount });
  });
  await ports.announce({ $case: 'tenantId', value: user.tenantId });
  return tenant;
}
