import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { LlmProviderType, PrimaryBillingAccountEnum, TenantPlanEnum } from '../generated/schema.ts';

export type TenantPlan = TenantPlanEnum;
export type LlmProvider = LlmProviderType;

/** The plans in ascending order. */
const tenantPlans: readonly TenantPlan[] = ['DEV', 'PRO', 'ENTERPRISE'];
export type MembershipRole = 'OWNER' | 'MEMBER';

export const tenants = table('tenants', {
  id: column<number>(),
  name: column<string>(),
  plan: column<TenantPlan>(),
  region: column<string | null>(),
  isSuspended: column<boolean>({ sql: (tenant) => `${tenant}.suspended_by_tenant OR ${tenant}.suspended_by_operator` }),
  suspendedByOperator: column<boolean>(),
  llmProviderOverride: column<LlmProvider | null>(),
  llmModelOverride: column<string | null>(),
  primaryBillingAccount: column<PrimaryBillingAccountEnum>(),
  ownKnowledgeBases: column<number | null>(),
  ownChunks: column<number | null>(),
  ownStorageMb: column<number | null>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
  deletedAt: column<Date | null>(),
});

export type Tenant = RowOf<typeof tenants>;

export function isTenantPlan(given: string): given is TenantPlan {
  return tenantPlans.some((plan) => plan === given);
}

export function isRaise(from: TenantPlan, to: TenantPlan): boolean {
  return tenantPlans.indexOf(to) > tenantPlans.indexOf(from);
}
