import type { IdentitySettings } from '../config.ts';

export const tenantCap = `coalesce(own_cap_usd, CASE WHEN idp_one_bills THEN cast(:idpOneCeiling AS numeric)
  ELSE cast(cast(:capsByPlan AS jsonb) ->> plan AS numeric) END)`;

export function capValues({ planLimits, idpOneMonthlyCeilingUsd }: IdentitySettings) {
  const caps = Object.entries(planLimits).map(([plan, { monthlyLlmCapUsd }]) => [plan, monthlyLlmCapUsd]);
  return { capsByPlan: JSON.stringify(Object.fromEntries(caps)), idpOneCeiling: idpOneMonthlyCeilingUsd };
}
