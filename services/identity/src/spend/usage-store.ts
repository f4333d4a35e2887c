import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import type { IdentitySettings } from '../config.ts';
import type { Settlement } from './spend-call.ts';
import { capValues, tenantCap } from './spend-limits.ts';
import { addToTotals, callTypes, currentMonth, details, isFree, me, recordset, totalsOf } from './usage-sql.ts';

export interface EndedCall extends Settlement {
  /** Whether the cost is an estimate, because the caller died before it settled the call. */
  leaseEnded: boolean;
  isRecorded: boolean;
}

/** A tenant's totals of this month; undefined for a deleted tenant. */
export interface MonthlySpend {
  spentUsd: number;
  capUsd: number;
}

const usageCounts = table('usage_counts', {
  model: column<string>({ long: "''" }),
  operation: column<string>({ long: "''" }),
  count: column<number>(),
});

export type UsageCount = RowOf<typeof usageCounts>;

const usageMonths = table('usage_months', {
  month: column<string>({ sql: (months) => `to_char(${months}.month, 'YYYY-MM')` }),
  spentUsd: column<string>({ sql: (months) => `cast(${months}.spent_usd AS text)` }),
  reservedUsd: column<string>({ sql: (months) => `cast(${months}.reserved_usd AS text)` }),
  /** The total cost of the month's calls whose tokens were estimated. */
  estimatedUsd: column<string>({
    sql: (months) =>
      `(SELECT cast(cast(coalesce(sum(calls.cost_usd), 0) AS numeric(20, 8)) AS text) FROM usage_calls AS calls
         WHERE calls.tenant_id = ${months}.tenant_id AND calls.month = ${months}.month AND calls.estimated)`,
  }),
});

export type UsageMonth = RowOf<typeof usageMonths>;

const detailsOf = (table: string) => details.replaceAll(/\w+/gu, (column) => `${table}.${column}`);

export function usageStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);

  return {
    /**
     * Ends reservations and records each call once. Only a record that was made because a lease had ended can be
     * replaced. The transaction must first lock the ledger.
     * @param calls with different ids
     */
    async record(calls: EndedCall[]): Promise<void> {
      await rows(
        `WITH given AS MATERIALIZED (
           SELECT given.*, held.place AS held_place, held.month AS held_month, held.cost_usd AS held_usd,
               known.month AS known_month, known.model_id AS known_model_id, known.operation AS known_operation,
               known.cost_usd AS known_usd, known.served AS was_served,
               coalesce(known.month, held.month, ${currentMonth}) AS month,
               is_recorded AND (known.month IS NULL OR (known.lease_ended AND NOT given.lease_ended)) AS is_stored
             FROM jsonb_to_recordset(cast(:calls AS jsonb))
               AS given (${callTypes}, estimated boolean, served boolean, lease_ended boolean, is_recorded boolean)
             LEFT JOIN LATERAL (
               SELECT r.ctid AS place, r.* FROM usage_reservations r
                WHERE r.tenant_id = ${me} AND r.call_id = given.call_id LIMIT 1) AS held ON true
             LEFT JOIN LATERAL (
               SELECT * FROM usage_calls c WHERE c.tenant_id = ${me} AND c.call_id = given.call_id LIMIT 1) AS known ON true
              WHERE ${isFree}
         ), ended AS (
           DELETE FROM usage_reservations WHERE ctid = ANY (ARRAY (SELECT held_place FROM given WHERE held_place IS NOT NULL))
         ), stored AS (
           INSERT INTO usage_calls (tenant_id, call_id, month, ${details}, cost_usd, estimated, served, lease_ended)
           SELECT ${me}, call_id, month, ${details}, cost_usd, estimated, served, lease_ended FROM given WHERE is_stored
           ON CONFLICT (tenant_id, call_id) DO UPDATE SET (${details}, cost_usd, estimated, served, lease_ended) =
             ROW (${detailsOf('excluded')}, excluded.cost_usd, excluded.estimated, excluded.served, excluded.lease_ended)
         ), recorded AS MATERIALIZED (
           SELECT month, model_id, operation, cost_usd, served, 1 AS sign FROM given WHERE is_stored
           UNION ALL SELECT known_month, known_model_id, known_operation, known_usd, was_served, -1 FROM given
                      WHERE is_stored AND known_month IS NOT NULL
         ), changes AS MATERIALIZED (
           SELECT month, sum(spent) AS spent, sum(reserved) AS reserved FROM (
             SELECT month, sign * cost_usd AS spent, 0 AS reserved FROM recorded
             UNION ALL SELECT held_month, 0, -held_usd FROM given WHERE held_month IS NOT NULL
           ) AS change GROUP BY month
         ), counted AS (
           INSERT INTO usage_counts AS known (tenant_id, model, operation, count)
           SELECT ${me}, model_id, operation, sum(sign) FROM recorded WHERE served GROUP BY model_id, operation
           ON CONFLICT (tenant_id, model, operation) DO UPDATE SET count = known.count + excluded.count
         ), ${addToTotals}
         SELECT`,
        { ...totalsOf(tenantId), calls: recordset(calls) },
      );
    },

    async findMonthlySpend(settings: IdentitySettings): Promise<MonthlySpend | undefined> {
      const [spend] = await rows<MonthlySpend>(
        `SELECT cast(${tenantCap} AS float8) AS cap_usd, cast(coalesce((
             SELECT spent_usd FROM usage_months WHERE tenant_id = ${me} AND month = ${currentMonth}), 0) AS float8) AS spent_usd
           FROM tenant_plans`,
        { tenantId, ...capValues(settings) },
      );
      return spend;
    },

    listMonths: () =>
      listWithin<UsageMonth>(
        db,
        knex('usage_months')
          .select(knex.raw(columnsWithin(db, usageMonths)))
          .where({ tenantId })
          .orderByRaw('usage_months.month DESC'),
      ),

    listCounts: () =>
      listWithin<UsageCount>(
        db,
        knex('usage_counts')
          .select(knex.raw(columnsWithin(db, usageCounts)))
          .where({ tenantId })
          .where('count', '>', 0)
          .orderByRaw('count DESC, usage_counts.model, usage_counts.operation'),
      ),
  };
}
