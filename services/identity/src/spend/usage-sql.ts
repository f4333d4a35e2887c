import { columnOf } from '@parley/postgres/database/names';

/** SQL fragments that the statements for reservations and for records share. Their parameters are those of `totalsOf`. */
export const me = 'cast(:tenantId AS integer)';

export const currentMonth = `cast(date_trunc('month', parley_now() AT TIME ZONE 'UTC') AS date)`;

export const details =
  'operation, provider_id, model_id, api_key_id, agent_id, session_id, tokens_in, tokens_cached, tokens_out';

export const callTypes = `call_id text, operation text, provider_id text, model_id text, api_key_id integer, agent_id integer,
  session_id integer, tokens_in integer, tokens_cached integer, tokens_out integer, cost_usd numeric`;

/**
 * Adds `changes` (month, spent, reserved) to the totals. The rows that tenants share come last and in a fixed order, to
 * prevent deadlocks.
 */
export const addToTotals = `tenant_total AS (
    INSERT INTO usage_months AS known (tenant_id, month, spent_usd, reserved_usd)
    SELECT ${me}, month, spent, reserved FROM changes
    ON CONFLICT (tenant_id, month) DO UPDATE
      SET spent_usd = known.spent_usd + excluded.spent_usd, reserved_usd = known.reserved_usd + excluded.reserved_usd
    RETURNING month
  ), platform_total AS (
    INSERT INTO platform_months AS known (month, shard, spent_usd, reserved_usd)
    SELECT month, cast(:shard AS integer), spent, reserved FROM changes JOIN tenant_total USING (month) ORDER BY month
    ON CONFLICT (month, shard) DO UPDATE
      SET spent_usd = known.spent_usd + excluded.spent_usd, reserved_usd = known.reserved_usd + excluded.reserved_usd
  )`;

const shards = 64;

/** Returns the shard of the platform's totals to which a tenant's usage is added. */
export const shardOf = (tenantId: number) => tenantId % shards;

export function totalsOf(tenantId: number) {
  return { tenantId, shard: shardOf(tenantId) };
}

/** An SQL condition: false after `tryLock` if another transaction has locked the ledger. The statement then changes nothing. */
export const isFree = `current_setting('parley.ledger', true) IS DISTINCT FROM 'busy'`;

export function recordset(calls: readonly object[]): string {
  const row = (call: object) =>
    Object.fromEntries(Object.entries(call).map(([name, value]) => [columnOf(name), value]));
  return JSON.stringify(calls.map(row));
}
