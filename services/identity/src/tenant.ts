import type { LlmProviderType, PrimaryBillingAccountEnum, TenantPlanEnum } from './generated/schema.ts';

export type TenantPlan = TenantPlanEnum;
export type LlmProvider = LlmProviderType;
export type BillingAccount = PrimaryBillingAccountEnum;

/** From the least to the most. */
export const tenantPlans: readonly TenantPlan[] = ['DEV', 'PRO', 'ENTERPRISE'];
export type MembershipRole = 'OWNER' | 'MEMBER';

/** A workspace. */
export interface Tenant {
  id: number;
  name: string;
  plan: TenantPlan;
  region: string | null;
  /** While either switch is on. */
  isSuspended: boolean;
  /** The operator's switch, which the owner cannot move. */
  suspendedByOperator: boolean;
  llmProviderOverride: LlmProvider | null;
  llmModelOverride: string | null;
  primaryBillingAccount: BillingAccount;
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | null;
}

/** Whether going from one plan to the other is a raise. */
export function isRaise(from: TenantPlan, to: TenantPlan): boolean {
  return tenantPlans.indexOf(to) > tenantPlans.indexOf(from);
}
