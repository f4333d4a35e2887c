import type { Caller } from '@parley/chassis/caller';
import { forbidden } from '@parley/chassis/errors';
import { type InputChecks, inputChecks } from '@parley/chassis/input-checks';
import { ownerOnly, withHeldTenant } from './owned-tenant.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';
import type { Tenant } from './tenant.ts';
import { checkPlanChange, checkTenantInput, type TenantInput } from './tenant-input.ts';
import { tenantStore } from './tenant-store.ts';

/** Left out stays; null clears region and the overrides, and is refused elsewhere. */
export interface UpdateTenantInput extends TenantInput {
  isSuspended?: boolean | null;
}

/** Changes the tenant in use. Its plan and its suspension are for the owner alone; a refused part refuses all of it. */
export async function updateTenant(
  ports: Ports,
  caller: Caller,
  input: UpdateTenantInput,
  gone?: AbortSignal,
): Promise<Tenant> {
  const user = signedInToTenant(caller);
  const check = inputChecks();
  refuseNulls(check, input);
  checkTenantInput(check, input, ports.settings);
  check.finish();

  const tenant = await withHeldTenant(ports, user, gone, async (db, { tenant: before, role }) => {
    if (role !== 'OWNER' && (input.plan !== undefined || input.isSuspended !== undefined)) throw ownerOnly();
    if (input.plan != null) checkPlanChange(ports.settings, before.plan, input.plan);
    if (input.isSuspended === false && before.suspendedByOperator) {
      throw forbidden('The operator of this platform has suspended this tenant', 'SUSPENDED_BY_OPERATOR');
    }
    return tenantStore(db).update(user.tenantId, {
      ...(input.name != null && { name: input.name }),
      ...(input.plan != null && { plan: input.plan }),
      ...(input.isSuspended != null && { suspendedByTenant: input.isSuspended }),
      ...(input.region !== undefined && { region: input.region }),
      ...(input.llmProviderOverride !== undefined && { llmProviderOverride: input.llmProviderOverride }),
      ...(input.llmModelOverride !== undefined && { llmModelOverride: input.llmModelOverride }),
    });
  });
  await ports.announce({ $case: 'tenantId', value: user.tenantId });
  return tenant;
}

function refuseNulls(check: InputChecks, input: UpdateTenantInput): void {
  for (const name of ['name', 'plan', 'isSuspended'] as const) {
    if (input[name] === null) check.refuse(`input.${name}`, 'must not be null');
  }
}
