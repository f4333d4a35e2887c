import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { onDatabaseServer } from '@parley/testing/every-database';
import test from 'ava';
import { spendLeases } from '../src/spend/settle-lapsed-spend.ts';
import { ledgerApp } from './support/ledger-app.ts';
import { assertBalanced, settlement, usd } from './support/spend.ts';

const leaseMs = 30_000;

test('a call whose lease ended costs its estimate if it had begun, and otherwise nothing, once on all replicas', async (t) => {
  const { app, database, tenant, advance, replica } = await ledgerApp(t);
  const elsewhere = await replica();
  const { id, reserve, begin, ledger, change } = await tenant();
  const other = await tenant();
  await reserve('asked', 2);
  await reserve('asked later', 3, false);
  await begin('asked later');
  await reserve('never asked', 4, false);
  await other.reserve('asked', 1);
  await change({ suspendedByTenant: true });
  await other.change({ deletedAt: new Date() });
  t.is(await app.settleLapsedSpend(), 0);

  advance(leaseMs + 1);
  const [here, there] = await Promise.all([app.settleLapsedSpend(), elsewhere.settleLapsedSpend()]);
  t.is(here + there, 4);
  const assumed = { estimated: true, served: true, leaseEnded: true };
  t.like(await ledger(), {
    months: [{ spent: '5.00000000', reserved: '0.00000000' }],
    counts: [{ model: 'small-1', operation: 'session', count: 2 }],
    calls: [
      { callId: 'asked', cost: '2.00000000', ...assumed },
      { callId: 'asked later', cost: '3.00000000', ...assumed },
    ],
    reservations: { length: 0 },
  });
  t.like((await other.ledger()).months, [{ spent: '1.00000000', reserved: '0.00000000' }]);
  t.is(await app.settleLapsedSpend(), 0);
  await assertBalanced(t, database, id, other.id);
});

test('renewed leases hold, of the other calls and of all of a batch', async (t) => {
  const { app, tenant, advance } = await ledgerApp(t);
  const { reserve, begin, renew, settle, ledger } = await tenant();
  const names = Array.from({ length: 450 }, (_, n) => `call ${n}`);
  await Promise.all(names.map((name) => reserve(name, 0)));
  await reserve('waits', 0.5, false);
  for (let n = 0; n < 3; n += 1) {
    advance(leaseMs - 1_000);
    await renew('call 7', 'waits', 'unknown');
  }
  t.is(await app.settleLapsedSpend(), 449);
  t.deepEqual(
    (await ledger()).reservations.map(({ callId }) => callId),
    ['call 7', 'waits'],
  );
  await begin('waits');
  await begin('waits');
  advance(leaseMs - 1_000);
  await begin('waits');
  advance(leaseMs - 1_000);
  t.is(await app.settleLapsedSpend(), 1);
  await settle(settlement('waits', { costUsdE8: usd(0.2) }));
  t.like(await ledger(), { months: [{ spent: '0.20000000', reserved: '0.00000000' }] });
});

test('an ended lease cannot be renewed, and its call must not begin, settled or not yet', async (t) => {
  const { app, database, tenant, advance } = await ledgerApp(t);
  const { id, reserve, begin, renew, ledger } = await tenant();
  await reserve('a', 1, false);
  advance(leaseMs + 1);
  const gone = { kind: 'notFound', message: 'Reservation a not found' };
  t.like(await t.throwsAsync(begin('a')), gone);
  await renew('a');
  t.is(await app.settleLapsedSpend(), 1);
  t.like(await t.throwsAsync(begin('a')), gone);
  t.like(await ledger(), { months: [{ spent: '0.00000000', reserved: '0.00000000' }], calls: { length: 0 } });
  await reserve('a', 1);
  await begin('a');
  await assertBalanced(t, database, id);
});

test('a settlement after the lease replaces the estimate and corrects month and counts, once', async (t) => {
  const { app, database, tenant, advance, replica } = await ledgerApp(t);
  const elsewhere = await replica();
  const { id, reserve, settle, ledger } = await tenant();
  const now = new Date();
  const beforeMidnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - 10_000;
  advance(beforeMidnight - now.getTime());
  await Promise.all(['served', 'not served', 'never settled'].map((callId) => reserve(callId, 2)));
  advance(leaseMs + 1);
  t.is(await app.settleLapsedSpend(), 3);
  t.like((await ledger()).months, [{ spent: '6.00000000', reserved: '0.00000000' }]);

  const late = [
    settlement('served', { costUsdE8: usd(0.25), modelId: 'fallback-1', tokensOut: 7 }),
    settlement('not served', { costUsdE8: 0n }, false),
  ];
  await Promise.all([settle(...late), settle(...late.toReversed()), elsewhere.settleLapsedSpend()]);
  await settle(settlement('served', { costUsdE8: usd(9) }));
  t.like(await ledger(), {
    months: [{ spent: '2.25000000', reserved: '0.00000000' }],
    counts: [
      { model: 'fallback-1', operation: 'session', count: 1 },
      { model: 'small-1', operation: 'session', count: 1 },
    ],
    calls: [
      { callId: 'never settled', cost: '2.00000000', leaseEnded: true },
      { callId: 'not served', cost: '0.00000000', served: false, leaseEnded: false, estimated: false },
      { callId: 'served', cost: '0.25000000', served: true, leaseEnded: false, estimated: false },
    ],
  });
  await assertBalanced(t, database, id);
});

test('settlements, renewals and ended leases of the same calls at once end each call once', async (t) => {
  const { app, database, tenant, advance, replica } = await ledgerApp(t);
  const elsewhere = await replica();
  const { id, reserve, renew, settle, onAnotherReplica, ledger } = await tenant('PRO');
  const there = await onAnotherReplica();
  const names = Array.from({ length: 60 }, (_, n) => `call ${n}`);
  await Promise.all(names.map((name, n) => reserve(name, 1, n % 3 > 0)));
  advance(leaseMs + 1);
  const settlements = names.map((name) => settlement(name, { costUsdE8: usd(0.5) }));
  await Promise.all([
    app.settleLapsedSpend(),
    elsewhere.settleLapsedSpend(),
    ...settlements.flatMap((one, n) => [
      settle(one),
      there.settle(one),
      there.renew(...names.slice(n)),
      renew(...names),
    ]),
    ...names.map((name) => there.begin(name).catch(() => undefined)),
  ]);
  t.like(await ledger(), { months: [{ spent: '30.00000000', reserved: '0.00000000' }], reservations: { length: 0 } });
  await assertBalanced(t, database, id);
});

// These tests need a database server: the embedded database has a single session, which holds all locks.
onDatabaseServer(({ test }) => {
  test('a ledger that another transaction has holds up ended leases of no other tenant, and its own until it is free', async (t) => {
    const { app, database, tenant, advance } = await ledgerApp(t);
    const tenants = await Promise.all(Array.from({ length: 6 }, () => tenant()));
    const [busy, ...free] = tenants.toSorted((one, other) => one.id - other.id);
    if (!busy) throw new Error('none');
    for (const { reserve } of tenants) await reserve('a', 2);
    advance(leaseMs + 1);
    await database.transact(busy.id, async ({ knex }) => {
      await knex.raw(`SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.usage'), ?)`, [busy.id]);
      const settling = t.throwsAsync(app.settleLapsedSpend());
      const isOver = async () => {
        const ledgers = await Promise.all(free.map(({ ledger }) => ledger()));
        return ledgers.every(({ reservations }) => reservations.length === 0);
      };
      await eventually('those of the others are settled', isOver);
      t.like(await settling, { kind: 'unavailable' });
      t.is((await busy.ledger()).reservations.length, 1);
    });
    t.is(await app.settleLapsedSpend(), 1);
    await assertBalanced(t, database, ...tenants.map(({ id }) => id));
  });
});

test('ended leases are settled by themselves, also after an outage of the database, which is logged once', async (t) => {
  const { ports, tenant, advance } = await ledgerApp(t);
  const { reserve, ledger } = await tenant();
  const messages: string[] = [];
  const log = { warn: (_: unknown, message = '') => void messages.push(message) };
  const said = (message: string) => messages.filter((each) => each === message).length;
  let outages = 0;
  const database: typeof ports.database = {
    ...ports.database,
    transactShared: (work, options) => {
      if (outages < 0 || outages > 5) return ports.database.transactShared(work, options);
      outages += 1;
      return Promise.reject(unavailable('The database does not answer'));
    },
  };
  const part = spendLeases({ ...ports, database, settings: { ...ports.settings, spendLeaseMs: 30 } }, log);
  await reserve('a', 2);
  advance(leaseMs + 1);
  await part.start();
  await eventually('its lease is settled', async () => (await ledger()).calls.length === 1);
  t.is(said('ended leases not settled; will retry'), 1);
  await eventually('it is logged', () => said('calls of gone callers settled') === 1);

  outages = 0;
  await eventually('the second outage is over', () => outages > 5);
  t.is(said('ended leases not settled; will retry'), 2);
  await part.stop();
  await reserve('b', 2);
  t.is((await ledger()).reservations.length, 1);
});
