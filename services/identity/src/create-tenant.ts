import type { Caller } from '@parley/kernel/caller';
import { badRequest } from '@parley/kernel/errors';
import { parseInput, withoutNulls } from '@parley/kernel/input';
import type { IdentitySettings } from './config.ts';
import { foundTenant } from './found-tenant.ts';
import type { CreateTenantInput } from './generated/schema.ts';
import { withLockedSignIn } from './locked-sign-in.ts';
import type { Ports } from './ports.ts';
import { signInStore } from './sign-in-store.ts';
import { signedIn } from './signed-in.ts';
import type { Tenant } from './tenant.ts';
import { checkPlanChange, newTenant } from './tenant-input.ts';
import { tenantStore } from './tenant-store.ts';

/** Every tenant starts with this plan; a higher one is a raise from it. */
const defaults = { plan: 'DEV', region: null, llmProviderOverride: null, llmModelOverride: null } as const;

/** Makes a tenant that the caller owns, and turns this sign-in to it. */
export async function createTenant(
  ports: Ports,
  caller: Caller,
  input: CreateTenantInput,
  gone?: AbortSignal,
): Promise<Tenant> {
  const person = signedIn(caller);
  const { userId, signInId } = person;
  const given = { ...defaults, ...parseInput(newTenant(ports.settings), withoutNulls(input)) };
  checkPlanChange(ports.settings, defaults.plan, given.plan);

  // The user's row is locked, so that two at once do not both find room for one.
  const tenant = await withLockedSignIn(ports, { caller: person, gone }, async (db) => {
    checkRoom(ports.settings, await tenantStore(db).countOf(userId));
    const founded = await foundTenant(db, given, userId);
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
