import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { IdentitySettings } from '../config.ts';
import { platformTenant } from './platform-tenant.ts';
import type { MeteredCall } from './spend-call.ts';
import { capValues, tenantCap } from './spend-limits.ts';
import { addToTotals, callTypes, currentMonth, details, isFree, me, recordset, totalsOf } from './usage-sql.ts';

export interface NewReservation extends MeteredCall {
  begins: boolean;
}

export interface Admission {
  refusedBy: 'cap' | 'ceiling' | null;
  capUsd: string;
  spentUsd: string;
  /** Maximum cost of calls in flight, including calls that were admitted together with this call; null if there are none. */
  heldUsd: string | null;
}

export interface LapsedReservation extends MeteredCall {
  begun: boolean;
}

/** SQL number format of amounts in messages. Caps are whole cents, so a spend at the cap is never shown below it. */
const cents = 'FM9999999999990.00';

const newLease = `parley_now() + cast(:leaseMs AS integer) * interval '1 ms'`;

/** Reads and writes the reservations of one tenant. Each transaction must first lock the tenant's ledger. */
export function reservationStore({ knex, tenantId }: TenantDb, settings: IdentitySettings) {
  const rows = rowsBy(knex);
  const leaseMs = settings.spendLeaseMs;

  return {
    /**
     * Admits calls one after the other, each if spend and reservations are below the limits. A call that already has a
     * reservation or a record is admitted again without a change.
     * @returns admissions by call id; empty if the tenant does not exist or is deleted
     */
    async reserve(calls: NewReservation[]): Promise<Map<string, Admission>> {
      const admissions = await rows<Admission & { callId: string }>(
        `WITH tenant AS MATERIALIZED (
           SELECT plan.*, coalesce(total.spent_usd, 0) AS spent, coalesce(total.spent_usd + total.reserved_usd, 0) AS used
             FROM (SELECT ${tenantCap} AS cap, ${currentMonth} AS month FROM tenant_plans
               UNION ALL SELECT NULL, ${currentMonth} WHERE ${me} = ${platformTenant}) AS plan
             LEFT JOIN usage_months AS total ON total.tenant_id = ${me} AND total.month = plan.month
         ), platform AS MATERIALIZED (
           SELECT limits.ceiling, CASE WHEN limits.ceiling IS NOT NULL THEN (
               SELECT coalesce(sum(total.spent_usd + total.reserved_usd), 0)
                 FROM platform_months AS total JOIN tenant USING (month)) END AS used
             FROM (SELECT cast(:ceiling AS numeric) AS ceiling) AS limits
         ), given AS MATERIALIZED (
           SELECT * FROM jsonb_to_recordset(cast(:calls AS jsonb)) AS given (${callTypes}, begins boolean, place integer)
            WHERE ${isFree}
         ), fresh AS MATERIALIZED (
           SELECT given.*,
               coalesce(sum(cost_usd) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS others
             FROM given
            WHERE (SELECT true FROM usage_reservations r WHERE r.tenant_id = ${me} AND r.call_id = given.call_id LIMIT 1) IS NULL
              AND (SELECT true FROM usage_calls c WHERE c.tenant_id = ${me} AND c.call_id = given.call_id LIMIT 1) IS NULL
         ), judged AS MATERIALIZED (
           SELECT fresh.*, tenant.month, CASE
               WHEN tenant.used + fresh.others >= tenant.cap THEN 'cap'
               WHEN platform.used + fresh.others >= platform.ceiling THEN 'ceiling' END AS refused_by
             FROM fresh, tenant, platform
         ), reserved AS (
           INSERT INTO usage_reservations (tenant_id, call_id, ${details}, cost_usd, month, begun, lease_until)
           SELECT ${me}, call_id, ${details}, cost_usd, month, begins, ${newLease} FROM judged WHERE refused_by IS NULL
           RETURNING month, cost_usd
         ), changes AS MATERIALIZED (
           SELECT month, 0 AS spent, sum(cost_usd) AS reserved FROM reserved GROUP BY month
         ), ${addToTotals}
         SELECT given.call_id, judged.refused_by, to_char(tenant.cap, '${cents}') AS cap_usd,
             to_char(tenant.spent, '${cents}') AS spent_usd,
             to_char(nullif(ceil((tenant.used - tenant.spent + admitted.reserved) * 100), 0) / 100, '${cents}') AS held_usd
           FROM tenant CROSS JOIN given LEFT JOIN judged USING (call_id)
             CROSS JOIN (SELECT coalesce(sum(reserved), 0) AS reserved FROM changes) AS admitted`,
        {
          ...totalsOf(tenantId),
          ...capValues(settings),
          ceiling: settings.platformMonthlyCeilingUsd,
          leaseMs,
          calls: recordset(calls.map((call, place) => ({ ...call, place }))),
        },
      );
      return new Map(admissions.map(({ callId, ...admission }) => [callId, admission]));
    },

    async begin(callId: string): Promise<boolean> {
      const held = await rows(
        `UPDATE usage_reservations SET begun = true, lease_until = ${newLease}
          WHERE tenant_id = ${me} AND call_id = :callId AND lease_until > parley_now() RETURNING call_id`,
        { tenantId, callId, leaseMs },
      );
      return held.length > 0;
    },

    async renew(callIds: string[]): Promise<void> {
      await rows(
        `UPDATE usage_reservations SET lease_until = ${newLease}
          WHERE tenant_id = ${me} AND call_id = ANY (cast(:callIds AS text[])) AND lease_until > parley_now()`,
        { tenantId, callIds, leaseMs },
      );
    },

    async listLapsed(limit: number): Promise<LapsedReservation[]> {
      return rows<LapsedReservation>(
        `SELECT call_id, ${details}, cast(cost_usd AS text) AS cost_usd, begun FROM usage_reservations
          WHERE tenant_id = ${me} AND lease_until <= parley_now() ORDER BY lease_until LIMIT cast(:limit AS integer)`,
        { tenantId, limit },
      );
    },
  };
}
