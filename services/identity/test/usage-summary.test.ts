import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { apiUsageBreakdown } from '../src/spend/api-usage-summary.ts';
import { signUp } from './support/identity-app.ts';
import { identityUnit } from './support/identity-unit.ts';
import { ledgerApp } from './support/ledger-app.ts';
import { agentOf, changeTenant, settlement, spendCall, usd } from './support/spend.ts';

const monthMs = 31 * 24 * 60 * 60_000;

test('apiUsageSummary: the cost is that of this month, the breakdown that of all months, most calls first, then by name', async (t) => {
  const { app, ports, tenant, advance } = await ledgerApp(t);
  const { caller } = await signUp(app);
  const breakdown = async () => {
    const database = wholeRowsDatabase(ports.database);
    const found = await apiUsageBreakdown({ ...ports, database }, requestOf(caller));
    return found.map(({ model, operation, count }) => [model, operation, count]);
  };
  t.deepEqual(await app.apiUsageSummary(caller), { spentUsd: 0, capUsd: 10 });
  t.deepEqual(await breakdown(), []);

  const settle = (...settlements: ReturnType<typeof settlement>[]) =>
    app.settleSpend(agentOf(caller.tenantId), { settlements });
  const other = await tenant();
  await other.settle(settlement('theirs', { costUsdE8: usd(5) }));
  await settle(settlement('a'), settlement('b', { modelId: 'large-1' }), settlement('c', { operation: 'evaluation' }));
  t.deepEqual(await app.apiUsageSummary(caller), { spentUsd: 0.03, capUsd: 10 });
  advance(monthMs);
  await settle(
    settlement('d', { modelId: 'large-1', costUsdE8: 12345678n }),
    settlement('e', { modelId: 'tiny-1', costUsdE8: 0n }, false),
  );
  await app.reserveSpend(agentOf(caller.tenantId), { call: spendCall('f', { costUsdE8: usd(3) }), begins: true });

  t.deepEqual(await app.apiUsageSummary(caller), { spentUsd: 0.12345678, capUsd: 10 });
  t.deepEqual(await breakdown(), [
    ['large-1', 'session', 2],
    ['small-1', 'evaluation', 1],
    ['small-1', 'session', 1],
  ]);
});

test('the summary reads totals only, not calls', async (t) => {
  const { app, ports, database } = await ledgerApp(t);
  const { caller } = await signUp(app);
  await app.settleSpend(agentOf(caller.tenantId), { settlements: [settlement('a')] });
  await database.transactShared(({ knex }) => knex.raw('SET LOCAL ROLE NONE; DROP TABLE usage_calls'));
  t.deepEqual(await app.apiUsageSummary(caller), { spentUsd: 0.01, capUsd: 10 });
  t.is((await apiUsageBreakdown({ ...ports, database: wholeRowsDatabase(database) }, requestOf(caller))).length, 1);
});

test('apiUsageSummary: the cap in the response is the one that is enforced', async (t) => {
  const { app, database } = await ledgerApp(t, { idpOneMonthlyCeilingUsd: 7_000.25, platformMonthlyCeilingUsd: 1 });
  const { caller } = await signUp(app);
  const cap = async (changes: object) => {
    await changeTenant(database, caller.tenantId, changes);
    return (await app.apiUsageSummary(caller)).capUsd;
  };
  t.is(await cap({ plan: 'PRO' }), 200);
  t.is(await cap({ primaryBillingAccount: 'IDP_ONE' }), 200);
  t.is(await cap({ idpOneBillingConfirmed: true }), 7_000.25);
  t.is(await cap({ primaryBillingAccount: 'PLATFORM', plan: 'ENTERPRISE' }), 5_000);
  t.like(await t.throwsAsync(app.apiUsageSummary({ ...caller, tenantId: null })), { reason: 'NO_TENANT' });
  t.like(await t.throwsAsync(app.apiUsageSummary(agentOf(caller.tenantId))), { kind: 'unauthenticated' });
});

test('agent settles by gRPC what a user then reads by GraphQL, a long breakdown within the bound of an answer', async (t) => {
  const { graph, rpc, unit } = await identityUnit(t);
  const { app } = await ledgerApp(t);
  const { tenantId: _, ...nobody } = (await signUp(app)).caller;
  const { database } = unit.deps;
  const tenantId = await database.transactShared(async ({ knex }) => {
    const [user] = await knex('users').insert({ fullname: 'Ada', referralCode: 'ADA' }).returning('id');
    const [tenant] = await knex('tenants').insert({ name: 'A', plan: 'DEV', createdBy: user.id }).returning('id');
    return tenant.id as number;
  });
  const caller = agentOf(tenantId);
  t.deepEqual(await rpc.reserveSpend({ call: spendCall('a'), begins: false }, { caller }), { leaseMs: 30_000 });
  await rpc.beginSpend({ callId: 'a' }, { caller });
  await rpc.renewSpend({ callIds: ['a'] }, { caller });
  await rpc.settleSpend({ settlements: [settlement('a', { costUsdE8: usd(9.5) })] }, { caller });
  await rpc.reserveSpend({ call: spendCall('b', { costUsdE8: usd(0.5) }), begins: true }, { caller });
  t.like(
    await t.throwsAsync(
      rpc.reserveSpend({ call: spendCall('c'), begins: true }, { caller, expectedErrors: ['invalid'] }),
    ),
    {
      kind: 'invalid',
      reason: 'SPEND_CAP_REACHED',
      message: 'Monthly LLM spend cap reached: $10.00 (spent $9.50, $0.50 held by calls in flight)',
    },
  );

  const user = { ...nobody, tenantId };
  const all = '{ apiUsageSummary { costThisMonthUsd monthlySpendCapUsd breakdown { model operation count } } }';
  t.deepEqual((await graph(user, all)).data, {
    apiUsageSummary: {
      costThisMonthUsd: 9.5,
      monthlySpendCapUsd: 10,
      breakdown: [{ model: 'small-1', operation: 'session', count: 1 }],
    },
  });
  await database.transact(tenantId, ({ knex }) =>
    knex.raw(
      `INSERT INTO usage_counts (tenant_id, model, operation, count)
       SELECT :tenantId, repeat('m', 255) || n, 'session', n FROM generate_series(1, 10000) AS n`,
      { tenantId },
    ),
  );
  const often = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map((alias) => `${alias}: breakdown { model }`);
  t.like((await graph(user, `{ apiUsageSummary { ${often.join(' ')} } }`)).errors, [
    { extensions: { code: 'BAD_REQUEST', reason: 'ANSWER_TOO_LARGE' } },
  ]);
  const { data } = await graph(user, '{ apiUsageSummary { breakdown { count } } }');
  const summary = data?.apiUsageSummary as { breakdown: { count: number }[] } | undefined;
  const counts = summary?.breakdown.map(({ count }) => count) ?? [];
  t.is(counts.length, 10_001);
  t.deepEqual(
    counts,
    counts.toSorted((a, b) => b - a),
  );
});
