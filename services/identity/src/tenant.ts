/** From the least to the most. */
export const tenantPlans = ['DEV', 'PRO', 'ENTERPRISE'] as const;
export type TenantPlan = (typeof tenantPlans)[number];

export type LlmProvider = 'CLOUD_HOSTED_MODELS' | 'HOSTED_SMALL_MODEL' | 'DIRECT_MODEL_API';
export type BillingAccount = 'IDP_ONE' | 'PLATFORM';
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
