import { forbidden } from '@parley/kernel/errors';
import { flag, graphEnum, rule, text } from '@parley/kernel/input';
import { mayBeNamed, namesEmbeddings } from '@parley/metering/model-price';
import { z } from 'zod';
import type { IdentitySettings } from '../config.ts';
import { isRaise, type LlmProvider, type TenantPlan } from './tenant.ts';

type TenantSettings = Pick<IdentitySettings, 'regions' | 'prices' | 'ownCloudModel'>;

export function tenantChanges({ regions, prices, ownCloudModel }: TenantSettings) {
  const isServed = (region: string) => regions.length === 0 || regions.includes(region);
  const region = text(32).check(
    rule((given) => (isServed(given) ? undefined : `must be one of ${regions.join(', ')}`)),
  );
  // Tenants may not select unpriced models.
  const isAllowed = (id: string) => id === ownCloudModel || mayBeNamed(prices.find(id));
  const refusalOf = (id: string) =>
    prices.find(id)?.embeds ? namesEmbeddings : 'names a model that has no price here';
  const model = text(255).check(rule((id) => (isAllowed(id) ? undefined : refusalOf(id))));
  return z
    .object({
      name: text(255),
      plan: graphEnum<TenantPlan>(),
      region: region.nullable(),
      isSuspended: flag(),
      llmProviderOverride: graphEnum<LlmProvider>().nullable(),
      llmModelOverride: model.nullable(),
    })
    .partial();
}

export function newTenant(settings: TenantSettings) {
  return tenantChanges(settings).omit({ isSuspended: true }).required({ name: true });
}

export function checkPlanChange({ planChanges }: IdentitySettings, from: TenantPlan, to: TenantPlan): void {
  if (planChanges === 'operator' && isRaise(from, to)) {
    throw forbidden('Only the operator of this platform raises plans', 'PLAN_CHANGE_BY_OPERATOR');
  }
}
