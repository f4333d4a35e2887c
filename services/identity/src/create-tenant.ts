import type { Caller } from '@parley/chassis/caller';
import { badRequest } from '@parley/chassis/errors';
import { inputChecks } from '@parley/chassis/input-checks';
import type { IdentitySettings } from './config.ts';
import { foundTenant } from './found-tenant.ts';
import { withLockedSignIn } from './locked-sign-in.ts';
import type { Ports } from './ports.ts';
import { signInStore } from './sign-in-store.ts';
import { signedIn } from './signed-in.ts';
import type { Tenant } from './tenant.ts';
import { checkPlanChange, checkTenantInput, type TenantInput } from './tenant-input.ts';
import { tenantStore } from './tenant-store.ts';

export interface CreateTenantInput extends TenantInput {
  name: string;
}

/** Every tenant starts here; a higher plan is a raise from it. */
const firstPlan = 'DEV';

/** Makes a tenant that the caller owns, and turns this sign-in to it. */
export async function createTenant(
  ports: Ports,
  caller: Caller,
  input: CreateTenantInput,
  gone?: AbortSignal,
): Promise<Tenant> {
  const person = signedIn(caller);
  const { userId, signInId } = person;
  const check = inputChecks();
  check.text('input.name', input.name, { max: 255 });
  checkTenantInput(check, { ...input, name: null }, ports.settings);
  check.finish();
  const plan = input.plan ?? firstPlan;
  checkPlanChange(ports.settings, firstPlan, plan);

  // The user's row is locked, so that two at once do not both find room for one.
  const tenant = await withLockedSignIn(ports, { caller: person, gone }, async (db) => {
    checkRoom(ports.settings, await tenantStore(db).countOf(userId));
    const founded = await foundTenant(
      db,
      {
        name: input.name,
        plan,
        region: input.region ?? null,
        llmProviderOverride: input.llmProviderOverride ?? null,
        llmModelOverride: input.llmModelOverride ?? null,
      },
      userId,
    );
    await signInStore(db).setTenant(signInId, founded.id);
    return founded;
  });
  await ports.announce({ $case: 'signInId', value: signInId });
  return tenant;
}

function checkRoom(settings: IdentitySettings, { owned, madeIn30Days }: { owned: number; madeIn30Days: number }): void {
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
