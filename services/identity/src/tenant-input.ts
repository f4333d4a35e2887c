import { forbidden, invalid } from '@parley/chassis/errors';
import { flag, oneOf, text } from '@parley/chassis/input';
import { z } from 'zod';
import type { IdentitySettings } from './config.ts';
import { isRaise, type LlmProvider, type TenantPlan } from './tenant.ts';

/** What an update may set of a tenant: left out stays; null clears region and the overrides, and is refused elsewhere. */
export const tenantChanges = z
  .object({
    name: text(255),
    plan: oneOf<TenantPlan>(),
    region: text(32).nullable(),
    isSuspended: flag(),
    llmProviderOverride: oneOf<LlmProvider>().nullable(),
    llmModelOverride: text(255).nullable(),
  })
  .partial();

/** A tenant that is made; null is as good as left out. */
export const newTenant = tenantChanges.omit({ isSuspended: true }).required({ name: true });

/** @throws DomainError `invalid` when the operator names regions, and this is none of them. */
export function checkRegion({ regions }: IdentitySettings, region: string | null | undefined): void {
  if (region == null || regions.length === 0 || regions.includes(region)) return;
  throw invalid({ path: 'input.region', message: `must be one of ${regions.join(', ')}` });
}

/** @throws DomainError `forbidden` with `PLAN_CHANGE_BY_OPERATOR` when a raise is not the owner's to make. */
export function checkPlanChange({ planChanges }: IdentitySettings, from: TenantPlan, to: TenantPlan): void {
  if (planChanges === 'operator' && isRaise(from, to)) {
    throw forbidden('Only the operator of this platform raises plans', 'PLAN_CHANGE_BY_OPERATOR');
  }
}
