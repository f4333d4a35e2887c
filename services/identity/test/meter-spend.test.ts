import type { SpendChange } from '@parley/protos/parley/identity/v1/identity';
import { onDatabaseServer } from '@parley/testing/every-database';
import test from 'ava';
import { mesh } from './support/identity-app.ts';
import { ledgerApp } from './support/ledger-app.ts';
import { agentOf, assertBalanced, settlement, spendCall, usd } from './support/spend.ts';

const reserve = (tenantId: number, callId: string, costUsd = 0.01): SpendChange => ({
  tenantId,
  change: { $case: 'reserve', value: { call: spendCall(callId, { costUsdE8: usd(costUsd) }), begins: true } },
});
const settle = (tenantId: number, callId: string, costUsd = 0.01): SpendChange => ({
  tenantId,
  change: { $case: 'settle', value: settlement(callId, { costUsdE8: usd(costUsd) }) },
});

test('calls of many tenants are reserved and settled in one step, and each ledger is as by itself', async (t) => {
  const { app, database, tenant } = await ledgerApp(t);
  const tenants = await Promise.all(Array.from({ length: 12 }, () => tenant()));
  const ids = tenants.map(({ id }) => id);
  const reserved = ids.flatMap((id) => [reserve(id, 'a', 1), reserve(id, 'b', 2), reserve(id, 'a', 1)]);
  t.deepEqual(await app.meterSpend(mesh, { changes: reserved }), []);
  t.like(await tenants[3]?.ledger(), { months: [{ spent: '0.00000000', reserved: '3.00000000' }] });
  const next = ids.flatMap((id) => [
    settle(id, 'a', 0.5),
    reserve(id, 'c', 3),
    settle(id, 'a', 0.5),
    settle(id, 'new'),
  ]);
  t.deepEqual(await app.meterSpend(mesh, { changes: next }), []);
  for (const { ledger } of tenants) {
    t.like(await ledger(), {
      months: [{ spent: '0.51000000', reserved: '5.00000000' }],
      calls: [{ callId: 'a' }, { callId: 'new' }],
      reservations: [
        { callId: 'b', begun: true },
        { callId: 'c', begun: true },
      ],
    });
  }
  await assertBalanced(t, database, ...ids);
});

test('refused and malformed changes and those of unknown tenants are skipped, and the others are applied', async (t) => {
  const { app, database, tenant } = await ledgerApp(t);
  const [one, full, gone] = await Promise.all([tenant(), tenant(), tenant()]);
  await full.settle(settlement('before', { costUsdE8: usd(10) }));
  await gone.change({ deletedAt: new Date() });
  const changes = [
    reserve(one.id, 'a'),
    reserve(full.id, 'a'),
    reserve(gone.id, 'a'),
    settle(gone.id, 'b'),
    reserve(one.id, ''),
    { tenantId: -1, change: { $case: 'settle' as const, value: settlement('a') } },
    { tenantId: one.id, change: undefined },
    settle(full.id, 'c'),
  ];
  t.deepEqual(await app.meterSpend(mesh, { changes }), [1, 2, 4, 5, 6]);
  t.like(await one.ledger(), { months: [{ reserved: '0.01000000' }], reservations: { length: 1 } });
  t.like(await full.ledger(), { months: [{ spent: '10.01000000', reserved: '0.00000000' }] });
  t.like(await gone.ledger(), { calls: [{ callId: 'b' }] });
  t.like(await t.throwsAsync(full.reserve('a')), { reason: 'SPEND_CAP_REACHED' });
  await assertBalanced(t, database, one.id, full.id, gone.id);
});

test('a step whose answer was lost changes nothing when its changes are asked for again, together or alone', async (t) => {
  const { app, database, tenant } = await ledgerApp(t);
  const [one, two] = await Promise.all([tenant(), tenant()]);
  const changes = [one, two].flatMap(({ id }) => [reserve(id, 'a', 2), reserve(id, 'b', 1), settle(id, 'c', 3)]);
  await app.meterSpend(mesh, { changes });
  await Promise.all([
    app.meterSpend(mesh, { changes }),
    ...[one, two].flatMap((each) => [
      each.reserve('a', 2),
      each.settle(settlement('c', { costUsdE8: usd(3) }), settlement('b', { costUsdE8: usd(0.5) })),
    ]),
  ]);
  await app.meterSpend(mesh, { changes });
  for (const { ledger } of [one, two]) {
    t.like(await ledger(), { months: [{ spent: '3.50000000', reserved: '2.00000000' }], calls: { length: 2 } });
  }
  await assertBalanced(t, database, one.id, two.id);
});

test('of calls in one step those are admitted that begin below the cap, on two replicas at once', async (t) => {
  const { app, database, tenant, replica } = await ledgerApp(t);
  const elsewhere = await replica();
  const tenants = await Promise.all(Array.from({ length: 5 }, () => tenant()));
  const ids = tenants.map(({ id }) => id);
  for (const { settle: settleOne } of tenants) await settleOne(settlement('before', { costUsdE8: usd(9.5) }));
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, n) => {
      const changes = ids.map((id) => reserve(id, `call ${n}`, 0.3));
      return (n % 2 ? app : elsewhere).meterSpend(mesh, { changes });
    }),
  );
  // A change is also skipped if the other replica has locked its ledger, so a skipped change may still be possible. The calls below are
  // made alone, so their results are final.
  t.true(made.flat().length >= 18 * ids.length);
  await Promise.allSettled(
    tenants.flatMap(({ reserve: alone }) => [alone('x', 0.3), alone('y', 0.3), alone('z', 0.3)]),
  );
  for (const { ledger } of tenants) t.like(await ledger(), { months: [{ reserved: '0.60000000' }] });
  await assertBalanced(t, database, ...ids);
});

// These tests need a database server: the embedded database has a single session, which holds all locks.
onDatabaseServer(({ test }) => {
  test('a ledger that another transaction has locked delays no other tenant: its changes are skipped', async (t) => {
    const { app, database, tenant } = await ledgerApp(t);
    const [busy, free] = await Promise.all([tenant(), tenant()]);
    await database.transact(busy.id, async ({ knex }) => {
      await knex.raw(`SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.usage'), ?)`, [busy.id]);
      const changes = [reserve(busy.id, 'a'), settle(busy.id, 'b'), reserve(free.id, 'a'), settle(free.id, 'b')];
      t.deepEqual(await app.meterSpend(mesh, { changes }), [0, 1]);
    });
    t.deepEqual(await busy.ledger(), { months: [], counts: [], calls: [], reservations: [] });
    t.like(await free.ledger(), { months: [{ spent: '0.01000000', reserved: '0.01000000' }] });
    await assertBalanced(t, database, busy.id, free.id);
  });
});

test('a step that the database refuses as a whole leaves nothing, and its calls can be made alone', async (t) => {
  const { app, database, tenant } = await ledgerApp(t);
  const [one, full] = await Promise.all([tenant(), tenant('ENTERPRISE')]);
  const largest = (callId: string) => settlement(callId, { costUsdE8: 10n ** 14n - 1n });
  await database.transact(full.id, ({ knex }) =>
    knex('usage_months').insert({
      tenantId: full.id,
      month: knex.raw(`date_trunc('month', parley_now() AT TIME ZONE 'UTC')`),
      spentUsd: '999999999999.99999999',
    }),
  );
  const changes = [
    settle(one.id, 'a'),
    { tenantId: full.id, change: { $case: 'settle' as const, value: largest('b') } },
  ];
  t.deepEqual(await app.meterSpend(mesh, { changes }), [0, 1]);
  t.deepEqual(await one.ledger(), { months: [], counts: [], calls: [], reservations: [] });
  await one.settle(settlement('a'));
  t.like(await one.ledger(), { months: [{ spent: '0.01000000' }] });
});

test('the ceiling of the platform bounds what is reserved in steps', async (t) => {
  const { app, tenant } = await ledgerApp(t, { platformMonthlyCeilingUsd: 3 });
  const tenants = await Promise.all(Array.from({ length: 6 }, () => tenant()));
  const changes = tenants.map(({ id }) => reserve(id, 'a', 1));
  t.is((await app.meterSpend(mesh, { changes })).length, 3);
});

test('many tenants are metered for units alone, and at most 500 changes at once', async (t) => {
  const { app, tenant } = await ledgerApp(t);
  const { id } = await tenant();
  t.like(await t.throwsAsync(app.meterSpend(agentOf(id), { changes: [] })), { kind: 'forbidden' });
  const changes = Array.from({ length: 501 }, (_, n) => reserve(id, `call ${n}`, 0));
  t.like(await t.throwsAsync(app.meterSpend(mesh, { changes })), { kind: 'invalid' });
  t.deepEqual(await app.meterSpend(mesh, { changes: [] }), []);
});

test('steps of many tenants and calls alone, at once on two replicas, count each call once', async (t) => {
  const { app, database, tenant, replica } = await ledgerApp(t);
  const elsewhere = await replica();
  const tenants = await Promise.all(Array.from({ length: 6 }, () => tenant('ENTERPRISE')));
  const ids = tenants.map(({ id }) => id);
  const on = () => (Math.random() < 0.5 ? app : elsewhere);
  async function made(changes: SpendChange[]): Promise<void> {
    for (const place of await on().meterSpend(mesh, { changes })) {
      const { tenantId = 0, change } = changes[place] ?? {};
      if (change?.$case === 'reserve') await on().reserveSpend(agentOf(tenantId), change.value);
      if (change?.$case === 'settle') await on().settleSpend(agentOf(tenantId), { settlements: [change.value] });
    }
  }
  const calls = Array.from({ length: 240 }, (_, n) => ({ tenantId: ids[n % ids.length] ?? 0, callId: `call ${n}` }));
  await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      const own = calls.slice(6 * n, 6 * n + 6).toSorted(() => Math.random() - 0.5);
      await made(own.map(({ tenantId, callId }) => reserve(tenantId, callId, 2)));
      const settled = own.map(({ tenantId, callId }) => settle(tenantId, callId, 0.25));
      await Promise.all([made(settled), ...(n % 4 === 0 ? [made(settled.toReversed())] : [])]);
    }),
  );
  for (const { ledger } of tenants) {
    t.like(await ledger(), {
      months: [{ spent: '10.00000000', reserved: '0.00000000' }],
      calls: { length: 40 },
      reservations: { length: 0 },
      counts: [{ count: 40 }],
    });
  }
  await assertBalanced(t, database, ...ids);
});
