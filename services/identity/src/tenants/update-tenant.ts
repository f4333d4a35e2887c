import type { TenantRequest } from '@parley/kernel/caller-request';
import { forbidden } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type { UpdateTenantInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { ownerOnly, withLockedTenant } from './locked-tenant.ts';
import type { Tenant } from './tenant.ts';
import { checkPlanChange, tenantChanges } from './tenant-input.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * Changes all given fields, or none if one of them is refused.
 * @throws `invalid` if a field is malformed
 * @throws `forbidden` with `OWNER_ONLY` if only the owner may change a given field
 * @throws `forbidden` with `PLAN_CHANGE_BY_OPERATOR` or `SUSPENDED_BY_OPERATOR` if only an operator may make the change
 * @throws the errors of `withLockedTenant`
 */
export async function updateTenant(ports: Ports, request: TenantRequest, input: UpdateTenantInput): Promise<Tenant> {
  const { tenantId } = signedIn(request.caller);
  const { isSuspended, ...changes } = parseInput(tenantChanges(ports.settings), input);
  const { plan } = changes;

  const tenant = await withLockedTenant(ports, request, async (db, { tenant: before, role }) => {
    if (role !== 'OWNER' && (plan !== undefined || isSuspended !== undefined)) throw ownerOnly();
    if (plan !== undefined) checkPlanChange(ports.settings, before.plan, plan);
    if (isSuspended === false && before.suspendedByOperator) {
      throw forbidden('The operator of this platform has suspended this tenant', 'SUSPENDED_BY_OPERATOR');
    }
    return tenantStore(db).update(tenantId, {
      ...changes,
      ...(isSuspended !== undefined && { suspendedByTenant: isSuspended }),
    });
  });
  await ports.announce({ $case: 'tenantId', value: tenantId });
  return tenant;
}
