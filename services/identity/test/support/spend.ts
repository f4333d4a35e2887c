import { type Caller, serviceCaller } from '@parley/kernel/caller';
import type { Database } from '@parley/postgres/database/types';
import type { SpendCall, SpendSettlement } from '@parley/protos/parley/identity/v1/identity';
import type { ExecutionContext } from 'ava';
import type { TenantPlan } from '../../src/tenants/tenant.ts';

export const usd = (amount: number): bigint => BigInt(Math.round(amount * 1e8));

/** Creates a call of one cent. */
export function spendCall(callId: string, overrides: Partial<SpendCall> = {}): SpendCall {
  return {
    callId,
    operation: 'session',
    providerId: 'DIRECT_MODEL_API',
    modelId: 'small-1',
    apiKeyId: undefined,
    agentId: undefined,
    sessionId: undefined,
    tokensIn: 100,
    tokensCached: 0,
    tokensOut: 20,
    costUsdE8: usd(0.01),
    ...overrides,
  };
}

export function settlement(callId: string, overrides: Partial<SpendCall> = {}, served = true): SpendSettlement {
  return { call: spendCall(callId, overrides), estimated: false, served };
}

/** Returns the agent service as a caller for a tenant. */
export const agentOf = (tenantId: number): Caller => serviceCaller('agent', tenantId, 'test');

/** Inserts a tenant without members. */
export async function newTenant(database: Database, plan: TenantPlan = 'DEV'): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const [user] = await knex('users')
      .insert({ fullname: 'Ada', referralCode: Math.random().toString(36) })
      .returning('id');
    const [tenant] = await knex('tenants').insert({ name: 'A', plan, createdBy: user.id }).returning('id');
    return tenant.id;
  });
}

export function changeTenant(database: Database, id: number, changes: object): Promise<unknown> {
  return database.transactShared(({ knex }) => knex('tenants').where({ id }).update(changes));
}

interface Month {
  month: string;
  spent: string;
  reserved: string;
}

const text = (column: string) => `cast(cast(${column} AS numeric(20, 8)) AS text)`;

/** Returns the current ledger of a tenant. */
export async function ledgerOf(database: Database, tenantId: number) {
  return database.transact(tenantId, async ({ knex }) => {
    const rows = async <Row>(sql: string): Promise<Row[]> => (await knex.raw(sql)).rows;
    const mine = `WHERE tenant_id = ${tenantId}`;
    return {
      months: await rows<Month>(
        `SELECT cast(month AS text) AS month, ${text('spent_usd')} AS spent, ${text('reserved_usd')} AS reserved
           FROM usage_months ${mine} ORDER BY month`,
      ),
      counts: await rows<{ model: string; operation: string; count: number }>(
        `SELECT model, operation, count FROM usage_counts ${mine} AND count <> 0 ORDER BY model, operation`,
      ),
      calls: await rows<{ callId: string; cost: string; estimated: boolean; served: boolean; leaseEnded: boolean }>(
        `SELECT call_id, ${text('cost_usd')} AS cost, estimated, served, lease_ended FROM usage_calls ${mine} ORDER BY call_id`,
      ),
      reservations: await rows<{ callId: string; cost: string; begun: boolean }>(
        `SELECT call_id, ${text('cost_usd')} AS cost, begun FROM usage_reservations ${mine} ORDER BY call_id`,
      ),
    };
  });
}

/** Asserts that totals equal the sums of their parts, for these tenants and for the platform. */
export async function assertBalanced(t: ExecutionContext, database: Database, ...tenantIds: number[]): Promise<void> {
  const platform = new Map<string, [bigint, bigint]>();
  for (const tenantId of tenantIds) {
    const { totals, sums } = await database.transact(tenantId, async ({ knex }) => ({
      totals: (await knex.raw(totalsSql)).rows,
      sums: (await knex.raw(sumsSql, { tenantId })).rows,
    }));
    t.deepEqual(totals, sums, `tenant ${tenantId}`);
    for (const { kind, name, spent, reserved } of sums) {
      if (kind !== 'month') continue;
      const [ofSpent, ofReserved] = platform.get(name) ?? [0n, 0n];
      platform.set(name, [ofSpent + e8(spent), ofReserved + e8(reserved)]);
    }
  }
  const { rows } = await database.transactShared(({ knex }) =>
    knex.raw(`SELECT cast(month AS text) AS month, sum(spent_usd) AS spent, sum(reserved_usd) AS reserved
                FROM platform_months GROUP BY month ORDER BY month`),
  );
  const found = rows.map(({ month, spent, reserved }: Month) => [month, [e8(spent), e8(reserved)]]);
  t.deepEqual(new Map(found), platform, 'the platform');
}

const e8 = (amount: string): bigint => BigInt(amount.replace('.', ''));

const totalsSql = `
  SELECT 'month' AS kind, cast(month AS text) AS name, ${text('spent_usd')} AS spent, ${text('reserved_usd')} AS reserved
    FROM usage_months
  UNION ALL SELECT 'count', model || ' ' || operation, cast(count AS text), '' FROM usage_counts WHERE count <> 0
  ORDER BY 1, 2`;

const sumsSql = `
  SELECT 'month' AS kind, cast(month AS text) AS name, ${text('sum(spent)')} AS spent, ${text('sum(reserved)')} AS reserved FROM (
    SELECT month, cost_usd AS spent, 0 AS reserved FROM usage_calls
    UNION ALL SELECT month, 0, cost_usd FROM usage_reservations WHERE tenant_id = :tenantId
    UNION ALL SELECT month, 0, 0 FROM usage_months
  ) AS parts GROUP BY month
  UNION ALL SELECT 'count', model_id || ' ' || operation, cast(count(*) AS text), '' FROM usage_calls WHERE served
    GROUP BY model_id, operation
  ORDER BY 1, 2`;
