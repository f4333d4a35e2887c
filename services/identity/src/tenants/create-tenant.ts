import type { CallerRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import { parseInput, withoutNulls } from '@parley/kernel/input';
import type { IdentitySettings } from '../config.ts';
import type { CreateTenantInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { provisionTenant, tenantDefaults } from './provision-tenant.ts';
import type { Tenant } from './tenant.ts';
import { checkPlanChange, newTenant } from './tenant-input.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * Creates a tenant and makes it current.
 * @throws `invalid` with `TENANT_LIMIT` if the user owns or has recently created too many tenants
 * @throws `forbidden` with `PLAN_CHANGE_BY_OPERATOR` if only an operator may give the tenant this plan
 * @throws the errors of `withLockedSignIn`
 */
export async function createTenant(ports: Ports, request: CallerRequest, input: CreateTenantInput): Promise<Tenant> {
  const { userId, signInId } = signedIn(request.caller);
  const given = { ...tenantDefaults, ...parseInput(newTenant(ports.settings), withoutNulls(input)) };
  checkPlanChange(ports.settings, tenantDefaults.plan, given.plan);

  // The locked user row keeps concurrent calls from exceeding the limits.
  const tenant = await withLockedSignIn(ports, request, async (db) => {
    checkTenantLimits(ports.settings, await tenantStore(db).countByUser(userId));
    const created = await provisionTenant(db, given, userId);
    await signInStore(db).setTenant(signInId, created.id);
    return created;
  });
  await ports.announce({ $case: 'signInId', value: signInId });
  return tenant;
}

function checkTenantLimits(
  settings: IdentitySettings,
  { owned, madeIn30Days }: { owned: number; madeIn30Days: number },
): void {
  const { maxOwnedTenants, maxTenantsMadeIn30Days } = settings;
  if (owned >= maxOwnedTenants) {
    throw badRequest(`You own ${owned} tenants of at most ${maxOwnedTenants}`, 'TENANT_LIMIT');
  }
  if (madeIn30Days >= maxTenantsMadeIn30Days) {
    throw badRequest(
      `You have made ${madeIn30Days} tenants of at most ${maxTenantsMadeIn30Days} within 30 days`,
      'TENANT_LIMIT',
    );
  }
}
