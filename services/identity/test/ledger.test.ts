import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { platformTenant } from '../src/spend/platform-tenant.ts';
import { spendMetrics } from '../src/spend/spend-metrics.ts';
import { defaultSettings, identityApp, mesh } from './support/identity-app.ts';
import { ledgerApp } from './support/ledger-app.ts';
import { agentOf, assertBalanced, ledgerOf, newTenant, settlement, spendCall, usd } from './support/spend.ts';

const capReached = (message: string) => ({ kind: 'invalid', reason: 'SPEND_CAP_REACHED', message });
const atTen = capReached('Monthly LLM spend cap reached: $10.00 (spent $10.00)');

const admittedOf = (outcomes: PromiseSettledResult<unknown>[]) =>
  outcomes.filter(({ status }) => status === 'fulfilled').length;

test('of 100 reservations at once, one call under the cap, one is admitted, on two replicas', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id, reserve, settle, ledger, onAnotherReplica } = await tenant();
  const elsewhere = await onAnotherReplica();
  await settle(settlement('before', { costUsdE8: usd(9.99) }));

  const outcomes = await Promise.allSettled(
    Array.from({ length: 100 }, (_, n) => (n % 2 ? reserve : elsewhere.reserve)(`call ${n}`, 3)),
  );
  t.is(admittedOf(outcomes), 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') {
      t.is(outcome.reason.reason, 'SPEND_CAP_REACHED');
      const what = 'spent $9.99, $3.00 held by calls in flight';
      t.is(
        outcome.reason.message,
        `Monthly LLM spend cap reached: $10.00 (${what})`,
        'of the one call that was admitted',
      );
    }
  }
  const [held] = (await ledger()).reservations;
  await assertBalanced(t, database, id);
  await settle(settlement(held?.callId ?? '', { costUsdE8: usd(0.01) }));
  t.like((await ledger()).months, [{ spent: '10.00000000', reserved: '0.00000000' }]);
  t.like(await t.throwsAsync(reserve('after')), atTen);
  await assertBalanced(t, database, id);
});

test('of many reservations at once those are admitted that begin below the cap, and no more', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id, reserve, settle, ledger } = await tenant();
  await settle(settlement('before', { costUsdE8: usd(9) }));
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => reserve(`call ${n}`, 0.4)));
  t.is(admittedOf(outcomes), 3); // admitted at a total of 9, 9.4 and 9.8 USD
  t.like((await ledger()).months, [{ spent: '9.00000000', reserved: '1.20000000' }]);
  await assertBalanced(t, database, id);
});

test('limits: at or over the monthly cap of its plan a tenant is refused by the amounts, so that one call at most exceeds it', async (t) => {
  const { tenant } = await ledgerApp(t);
  const { reserve, settle, ledger } = await tenant();
  await reserve('one', 9.99);
  await reserve('two', 50);
  t.like(
    await t.throwsAsync(reserve('three', 0)),
    capReached('Monthly LLM spend cap reached: $10.00 (spent $0.00, $59.99 held by calls in flight)'),
  );
  await settle(settlement('two', { costUsdE8: 0n }, false));
  await reserve('three', 0.01);
  t.like((await ledger()).months, [{ spent: '0.00000000', reserved: '10.00000000' }]);
  await settle(settlement('one', { costUsdE8: usd(12.3456789) }), settlement('three', { costUsdE8: 0n }));
  t.like(await t.throwsAsync(reserve('four')), capReached('Monthly LLM spend cap reached: $10.00 (spent $12.35)'));
});

test('spend at the cap is not shown below it, and a spend just below it admits one more call', async (t) => {
  const { tenant } = await ledgerApp(t);
  const { reserve, settle } = await tenant();
  await settle(settlement('a', { costUsdE8: usd(9.99999999) }));
  await reserve('b', 0.00000001);
  await settle(settlement('b', { costUsdE8: 1n }));
  t.like(await t.throwsAsync(reserve('c')), atTen);
  await settle(settlement('d', { costUsdE8: usd(0.00499999) }));
  t.like(await t.throwsAsync(reserve('c')), atTen);
});

test("what is charged to the platform is no tenant's, passes its cap, and is bounded by the ceiling alone", async (t) => {
  const { app, database, tenant } = await ledgerApp(t, { platformMonthlyCeilingUsd: 30 });
  const { id, reserve, settle, ledger } = await tenant();
  await settle(settlement('before', { costUsdE8: usd(10) }));
  t.like(await t.throwsAsync(reserve('own')), atTen);

  const ofPlatform = { ...agentOf(id), tenantId: platformTenant };
  const reembed = (callId: string, costUsd: number) => ({
    ...spendCall(callId, { costUsdE8: usd(costUsd) }),
    operation: 'reembed',
  });
  await app.reserveSpend(ofPlatform, { call: reembed('alone', 12), begins: true });
  const together = { $case: 'reserve' as const, value: { call: reembed('together', 20), begins: true } };
  t.deepEqual(await app.meterSpend(mesh, { changes: [{ tenantId: platformTenant, change: together }] }), []);
  t.like(await t.throwsAsync(app.reserveSpend(ofPlatform, { call: reembed('more', 1), begins: true })), {
    kind: 'unavailable',
    reason: 'PLATFORM_CEILING_REACHED',
  });
  const settled = { call: reembed('alone', 11), estimated: false, served: true };
  await app.settleSpend(ofPlatform, { settlements: [settled] });
  t.like(await ledger(), { months: [{ spent: '10.00000000', reserved: '0.00000000' }], calls: { length: 1 } });
  const own = await ledgerOf(database, platformTenant);
  t.like(own.months, [{ spent: '11.00000000', reserved: '20.00000000' }]);
  t.like(own.counts, [{ operation: 'reembed' }]);
});

test('a repeated reservation changes nothing and is admitted, whatever became of the first', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id, reserve, settle, ledger, onAnotherReplica } = await tenant();
  const elsewhere = await onAnotherReplica();
  await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? reserve : elsewhere.reserve)('same', 4)));
  t.like(await ledger(), { months: [{ reserved: '4.00000000' }], reservations: { length: 1 } });

  await reserve('other', 100);
  await reserve('same', 4);
  await settle(settlement('same', { costUsdE8: usd(10) }), settlement('other', { costUsdE8: 0n }));
  await reserve('same', 4);
  t.like(await ledger(), { months: [{ spent: '10.00000000', reserved: '0.00000000' }], reservations: { length: 0 } });
  t.like(await t.throwsAsync(reserve('new')), atTen);
  await assertBalanced(t, database, id);
});

test('a settlement counts once, repeated or at once, in one request or several', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id, reserve, settle, ledger, onAnotherReplica } = await tenant();
  const elsewhere = await onAnotherReplica();
  const names = Array.from({ length: 40 }, (_, n) => `call ${n}`);
  await Promise.all(names.map((name) => reserve(name, 0.02)));
  const all = names.map((name) => settlement(name, { costUsdE8: usd(0.015) }));
  await Promise.all([
    ...Array.from({ length: 5 }, () => settle(...all)),
    ...Array.from({ length: 5 }, () => elsewhere.settle(...all.toReversed())),
    ...all.map((one) => elsewhere.settle(one, one)),
  ]);
  await settle(...all.map(({ call }) => settlement(call?.callId ?? '', { costUsdE8: usd(7), modelId: 'other' })));

  t.like(await ledger(), {
    months: [{ spent: '0.60000000', reserved: '0.00000000' }],
    counts: [{ model: 'small-1', operation: 'session', count: 40 }],
    reservations: { length: 0 },
  });
  await assertBalanced(t, database, id);
});

test('a call without a reservation is recorded, and only served calls count', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id, settle, ledger } = await tenant();
  await settle(
    settlement('a', { operation: 'greeting' }),
    settlement('b', { operation: 'test', costUsdE8: usd(0.5) }, false),
    settlement('c', { operation: 'greeting', modelId: 'large-1' }),
  );
  t.like(await ledger(), {
    months: [{ spent: '0.52000000' }],
    counts: [
      { model: 'large-1', operation: 'greeting', count: 1 },
      { model: 'small-1', operation: 'greeting', count: 1 },
    ],
    calls: [{ callId: 'a' }, { callId: 'b', served: false, cost: '0.50000000' }, { callId: 'c' }],
  });
  await assertBalanced(t, database, id);
});

test("the same call id of another tenant is another call, and another tenant's reservation is not found", async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const mine = await tenant();
  const theirs = await tenant();
  await mine.reserve('call', 1, false);
  t.like(await t.throwsAsync(theirs.begin('call')), { kind: 'notFound' });
  await theirs.renew('call');
  await theirs.settle(settlement('call', { costUsdE8: usd(2) }));
  t.like(await mine.ledger(), { months: [{ spent: '0.00000000', reserved: '1.00000000' }], calls: [] });
  t.like((await mine.ledger()).reservations, [{ callId: 'call', begun: false }]);
  await mine.begin('call');
  await mine.settle(settlement('call'));
  t.like(await theirs.ledger(), { months: [{ spent: '2.00000000' }], calls: { length: 1 } });
  await assertBalanced(t, database, mine.id, theirs.id);
});

test('a change of plan or of billing counts at once', async (t) => {
  const { tenant } = await ledgerApp(t, { idpOneMonthlyCeilingUsd: 300.5 });
  const { reserve, settle, change } = await tenant();
  await settle(settlement('a', { costUsdE8: usd(150) }));
  t.like(await t.throwsAsync(reserve('b')), capReached('Monthly LLM spend cap reached: $10.00 (spent $150.00)'));
  await change({ plan: 'PRO' });
  await reserve('b');
  await settle(settlement('c', { costUsdE8: usd(149.99) }));
  t.like(
    await t.throwsAsync(reserve('d')),
    capReached('Monthly LLM spend cap reached: $200.00 (spent $299.99, $0.01 held by calls in flight)'),
  );

  await change({ primaryBillingAccount: 'IDP_ONE' });
  t.like(await t.throwsAsync(reserve('d')), { reason: 'SPEND_CAP_REACHED' }, 'not confirmed');
  await change({ idpOneBillingConfirmed: true });
  await reserve('d', 0.5);
  t.like(
    await t.throwsAsync(reserve('e')),
    capReached('Monthly LLM spend cap reached: $300.50 (spent $299.99, $0.51 held by calls in flight)'),
  );
  await change({ primaryBillingAccount: 'PLATFORM', plan: 'DEV' });
  t.like(
    await t.throwsAsync(reserve('e')),
    capReached('Monthly LLM spend cap reached: $10.00 (spent $299.99, $0.51 held by calls in flight)'),
  );
});

test('a suspended tenant reserves; a deleted or unknown one is not found, and what it spent is still recorded', async (t) => {
  const { app, database, tenant } = await ledgerApp(t);
  const { id, reserve, settle, change, ledger } = await tenant();
  await change({ suspendedByOperator: true });
  await reserve('a');
  await change({ deletedAt: new Date() });
  t.like(await t.throwsAsync(reserve('b')), { kind: 'notFound' });
  await settle(settlement('a'));
  t.like(await ledger(), { months: [{ spent: '0.01000000', reserved: '0.00000000' }] });
  t.like(await t.throwsAsync(app.reserveSpend(agentOf(id + 1), { call: spendCall('a'), begins: true })), {
    kind: 'notFound',
  });
  t.like(await t.throwsAsync(app.reserveSpend(mesh, { call: spendCall('a'), begins: true })), { kind: 'forbidden' });
  await assertBalanced(t, database, id);
});

test('the ceiling of the platform bounds all tenants together by one call, also many at once on two replicas', async (t) => {
  const { app, database, replica } = await identityApp(t, { platformMonthlyCeilingUsd: 3 });
  const elsewhere = await replica();
  const tenantIds = await Promise.all(Array.from({ length: 2 }, () => newTenant(database, 'PRO')));
  const reserveAll = () =>
    Promise.allSettled(
      tenantIds.flatMap((tenantId, n) =>
        Array.from({ length: 24 }, (_, call) =>
          ((n + call) % 2 ? app : elsewhere).reserveSpend(agentOf(tenantId), {
            call: spendCall(`call ${call}`, { costUsdE8: usd(0.4) }),
            begins: true,
          }),
        ),
      ),
    );
  const outcomes = await reserveAll();
  t.is(admittedOf(outcomes), 8); // seven calls reserve only 2.8 of 3 USD
  const refused = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
  t.like(refused.reason, { kind: 'unavailable', reason: 'PLATFORM_CEILING_REACHED' });
  await assertBalanced(t, database, ...tenantIds);

  for (const tenantId of tenantIds) {
    const { reservations } = await ledgerOf(database, tenantId);
    const settlements = reservations.map(({ callId }) => settlement(callId, { costUsdE8: usd(0.2) }));
    await app.settleSpend(agentOf(tenantId), { settlements });
  }
  t.is(admittedOf(await reserveAll()), 8 + 4, 'those that are known, and 1.6 to 3.2');
  await assertBalanced(t, database, ...tenantIds);
});

test('metrics report the monthly spend of all tenants and the ceiling', async (t) => {
  const { app, database } = await identityApp(t, { platformMonthlyCeilingUsd: 3 });
  const [one, two] = await Promise.all([newTenant(database, 'PRO'), newTenant(database, 'PRO')]);
  const call = spendCall('a', { costUsdE8: usd(0.4) });
  await app.reserveSpend(agentOf(one), { call, begins: true });
  await app.settleSpend(agentOf(two), { settlements: [settlement('b', { costUsdE8: usd(1) })] });

  const exported = async (platformMonthlyCeilingUsd: number | null) => {
    const metrics = createMetrics('identity');
    spendMetrics({ database, settings: { platformMonthlyCeilingUsd } }, metrics);
    return [...(await metrics.registry.metrics()).matchAll(/^parley_spend_\w+\{.*\} (.*)$/gmu)].map(
      ([, value]) => value,
    );
  };
  t.deepEqual(await exported(3), ['1.4', '3']);
  t.deepEqual(await exported(null), ['1.4', '+Inf']);
});

test('limits: the spend cap resets each calendar month: that of a call is that of its reservation in UTC', async (t) => {
  const { app, database, tenant, advance } = await ledgerApp(t);
  const { id, reserve, settle, ledger } = await tenant();
  const now = Date.now();
  const date = new Date(now);
  const beforeMidnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - 60_000;
  advance(beforeMidnight - now);
  await settle(settlement('a', { costUsdE8: usd(10) }));
  t.like(await t.throwsAsync(reserve('b')), atTen);
  const other = await tenant();
  await other.reserve('late', 10);
  t.like(await t.throwsAsync(other.reserve('b')), { reason: 'SPEND_CAP_REACHED' });

  advance(120_000);
  await app.renewSpend(agentOf(other.id), { callIds: ['late'] });
  await reserve('b', 1);
  await other.reserve('b', 1);
  await settle(settlement('b', { costUsdE8: usd(1) }));
  await other.settle(settlement('late', { costUsdE8: usd(9) }));
  const months = (await ledger()).months;
  t.like(months, [{ spent: '10.00000000' }, { spent: '1.00000000' }]);
  t.is(months[1]?.month, new Date(beforeMidnight + 60_000).toISOString().slice(0, 10));
  t.like((await other.ledger()).months, [
    { spent: '9.00000000', reserved: '0.00000000' },
    { spent: '0.00000000', reserved: '1.00000000' },
  ]);
  t.deepEqual(
    (await ledger()).counts.map(({ count }) => count),
    [2],
  );
  await assertBalanced(t, database, id, other.id);
});

test('money is exact to 1e-8 USD after thousands of settlements in random order', async (t) => {
  const { app, database, replica } = await identityApp(t);
  const elsewhere = await replica();
  const tenantIds = await Promise.all([newTenant(database, 'ENTERPRISE'), newTenant(database, 'ENTERPRISE')]);
  const spent = new Map(tenantIds.map((id) => [id, 0n]));
  const counts = new Map<string, number>();
  const work: (() => Promise<void>)[] = [];
  for (let n = 0; n < 3_000; n += 1) {
    const tenantId = tenantIds[n % 2] as number;
    const costUsdE8 = BigInt(Math.floor(Math.random() ** 6 * 1e7));
    const modelId = `model ${n % 7}`;
    const served = n % 5 > 0;
    spent.set(tenantId, (spent.get(tenantId) ?? 0n) + costUsdE8);
    if (served) counts.set(`${tenantId} ${modelId}`, (counts.get(`${tenantId} ${modelId}`) ?? 0) + 1);
    const on = () => (Math.random() < 0.5 ? app : elsewhere);
    work.push(async () => {
      const call = spendCall(`call ${n}`, { costUsdE8: costUsdE8 + 3n, modelId });
      if (n % 3 > 0) await on().reserveSpend(agentOf(tenantId), { call, begins: n % 2 > 0 });
      const settlements = [settlement(`call ${n}`, { costUsdE8, modelId }, served)];
      await on().settleSpend(agentOf(tenantId), { settlements });
      if (n % 11 === 0) await on().settleSpend(agentOf(tenantId), { settlements });
    });
  }
  await Promise.all(work.toSorted(() => Math.random() - 0.5).map((each) => each()));
  for (const tenantId of tenantIds) {
    const { months, counts: found } = await ledgerOf(database, tenantId);
    t.is(months.length, 1);
    t.is(BigInt(months[0]?.spent.replace('.', '') ?? 0), spent.get(tenantId) ?? 0n);
    t.is(months[0]?.reserved, '0.00000000');
    for (const { model, count } of found) t.is(count, counts.get(`${tenantId} ${model}`) ?? 0);
  }
  await assertBalanced(t, database, ...tenantIds);
});

test('calls under way are reserved, renewed and settled while sign-ins use up the connections', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id, reserve, renew, settle, ledger } = await tenant();
  const gate = createGate();
  t.teardown(() => gate.open());
  const signIns = Array.from({ length: 20 }, () => database.transactShared(() => gate.pass()));

  await reserve('call');
  await renew('call');
  await settle(settlement('call'));
  t.true(database.connections().waiting > 0, 'the others still wait');
  gate.open();
  await Promise.all(signIns);
  t.like(await ledger(), { months: [{ spent: '0.01000000', reserved: '0.00000000' }] });
  await assertBalanced(t, database, id);
});

test('hostile numbers and names are refused and not stored', async (t) => {
  const { app, tenant } = await ledgerApp(t);
  const { id, ledger } = await tenant();
  for (const [field, value] of [
    ['callId', ''],
    ['callId', 'x'.repeat(201)],
    ['callId', 'a\0'],
    ['operation', ' '],
    ['modelId', 'x'.repeat(256)],
    ['tokensIn', -1],
    ['costUsdE8', -1n],
    ['costUsdE8', 10n ** 14n],
    ['agentId', 0],
  ] as const) {
    const call = spendCall('call', { [field]: value });
    const refused = { kind: 'invalid', fields: [{ path: `call.${field}` }] };
    t.like(await t.throwsAsync(app.reserveSpend(agentOf(id), { call, begins: true })), refused, field);
    const settlements = [settlement('fine'), { call, estimated: false, served: true }];
    const error = await t.throwsAsync(app.settleSpend(agentOf(id), { settlements }));
    t.like(error, { kind: 'invalid', fields: [{ path: `settlements.1.call.${field}` }] }, field);
  }
  t.like(await t.throwsAsync(app.reserveSpend(agentOf(id), { call: undefined, begins: true })), { kind: 'invalid' });
  const many = Array.from({ length: 201 }, (_, n) => settlement(`call ${n}`));
  t.like(await t.throwsAsync(app.settleSpend(agentOf(id), { settlements: many })), { kind: 'invalid' });
  const names = Array.from({ length: 1_001 }, (_, n) => `call ${n}`);
  t.like(await t.throwsAsync(app.renewSpend(agentOf(id), { callIds: names })), { kind: 'invalid' });
  t.like(await t.throwsAsync(app.beginSpend(agentOf(id), { callId: '' })), { kind: 'invalid' });
  await app.settleSpend(agentOf(id), { settlements: [] });
  await app.renewSpend(agentOf(id), { callIds: [] });
  t.deepEqual(await ledger(), { months: [], counts: [], calls: [], reservations: [] });

  const longest = spendCall('💶'.repeat(200), { costUsdE8: 10n ** 14n - 1n, modelId: "'; DROP TABLE tenants; --" });
  await app.settleSpend(agentOf(id), { settlements: [{ call: longest, estimated: true, served: true }] });
  t.like((await ledger()).months, [{ spent: '999999.99999999' }]);
});

test('no service can write a plan through the view of its tenant', async (t) => {
  const { database, tenant } = await ledgerApp(t);
  const { id } = await tenant();
  const other = await tenant('PRO');
  await t.throwsAsync(database.transact(id, ({ knex }) => knex('tenant_plans').update({ plan: 'PRO' })));
  await t.throwsAsync(database.transact(id, ({ knex }) => knex('tenant_plans').delete()));
  t.deepEqual(await database.transact(other.id, ({ knex }) => knex('tenant_plans').pluck('tenantId')), [other.id]);
  t.is(defaultSettings().planLimits.PRO.monthlyLlmCapUsd, 200);
});
