import { forbidden } from '@parley/chassis/errors';
import type { InputChecks } from '@parley/chassis/input-checks';
import type { IdentitySettings } from './config.ts';
import { isRaise, type LlmProvider, type TenantPlan } from './tenant.ts';

/** What create and update take alike. */
export interface TenantInput {
  name?: string | null;
  plan?: TenantPlan | null;
  region?: string | null;
  llmProviderOverride?: LlmProvider | null;
  llmModelOverride?: string | null;
}

const maxName = 255;
const maxRegion = 32;
const maxModel = 255;

/** Notes what is wrong with the values that are given. */
export function checkTenantInput(check: InputChecks, input: TenantInput, { regions }: IdentitySettings): void {
  check.optionalText('input.name', input.name, { max: maxName });
  check.optionalText('input.llmModelOverride', input.llmModelOverride, { max: maxModel });
  if (input.region == null) return;
  if (!check.text('input.region', input.region, { max: maxRegion })) return;
  if (regions.length > 0 && !regions.includes(input.region)) {
    check.refuse('input.region', `must be one of ${regions.join(', ')}`);
  }
}

/** @throws DomainError `forbidden` with `PLAN_CHANGE_BY_OPERATOR` when a raise is not the owner's to make. */
export function checkPlanChange({ planChanges }: IdentitySettings, from: TenantPlan, to: TenantPlan): void {
  if (planChanges === 'operator' && isRaise(from, to)) {
    throw forbidden('Only the operator of this platform raises plans', 'PLAN_CHANGE_BY_OPERATOR');
  }
}
