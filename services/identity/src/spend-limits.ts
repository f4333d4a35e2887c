import type { IdentitySettings } from './config.ts';

/** The cap of the tenant of `tenant_plans`. */
export const tenantCap = `CASE WHEN idp_one_bills THEN cast(:idpOneCeiling AS numeric)
  ELSE cast(cast(:capsByPlan AS jsonb) ->> plan AS numeric) END`;

/** The parameters of `tenantCap`. */
export function capValues({ planLimits, idpOneMonthlyCeilingUsd }: IdentitySettings) {
  const caps = Object.entries(planLimits).map(([plan, { monthlyLlmCapUsd }]) => [plan, monthlyLlmCapUsd]);
  return { capsByPlan: JSON.stringify(Object.fromEntries(caps)), idpOneCeiling: idpOneMonthlyCeilingUsd };
}
