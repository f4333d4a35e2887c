import type { TenantCaller } from '@parley/kernel/caller';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createCustomerCursors } from '../src/embed/customer-cursors.ts';
import { sessionStore } from '../src/session-store.ts';
import { finished, text } from './scripted-agent.ts';
import { inTenant, isTurnEnd, type SessionMesh, sessionMesh, subscribe } from './session-mesh.ts';

const byKey: TenantCaller = { kind: 'apiKey', tenantId: 1, apiKeyId: 1, requestId: 'test' };
/** Different identifiers that an inexact index or comparison would treat as equal. */
const alike = [
  'customer',
  'Customer',
  'customer ',
  'custome\u0072\u0301',
  `${'c'.repeat(999)}1`,
  `${'c'.repeat(999)}2`,
  '',
];

async function start({ app }: SessionMesh, clientExternalId: string): Promise<number> {
  const { id } = await app.startSession(inTenant(1), { agentId: 1, clientExternalId });
  return id;
}

test("a customer's sessions are paged newest first, each once, also while new ones start", async (t) => {
  const mesh = await sessionMesh(t);
  const { app } = mesh;
  const own: number[] = [];
  for (let each = 0; each < 5; each += 1) {
    own.unshift(await start(mesh, 'ada'));
    await start(mesh, 'eve');
  }
  const cursors = createCustomerCursors([{ id: 'k1', key: Buffer.alloc(32, 7) }]);
  const customer = { tenantId: 1, externalCustomerId: 'ada' };
  const seen: number[] = [];
  let after: string | null = null;
  for (let page = 0; page < 3; page += 1) {
    const found = await app.listCustomerSessions(byKey, { externalCustomerId: 'ada', first: 2, after });
    seen.push(...found.sessionIds);
    t.is(found.hasNextPage, page < 2);
    after = cursors.cursorOf(customer, seen.at(-1) ?? 0);
    await start(mesh, 'ada');
  }
  t.deepEqual(seen, own);
  const whole = await app.listCustomerSessions(byKey, { externalCustomerId: 'ada' });
  t.is(whole.sessionIds.length, 8);
  t.is(await mesh.database.transact(1, (db) => sessionStore(db).countOfCustomer('ada')), 8);
});

test('similar identifiers belong to different customers', async (t) => {
  const mesh = await sessionMesh(t);
  const ids = new Map<string, number>();
  for (const id of alike) ids.set(id, await start(mesh, id));
  for (const [externalCustomerId, sessionId] of ids) {
    const { sessionIds } = await mesh.app.listCustomerSessions(byKey, { externalCustomerId });
    t.deepEqual(sessionIds, [sessionId], JSON.stringify(externalCustomerId.slice(-5)));
  }
});

test("another tenant's customer with the same identifier is not visible", async (t) => {
  const mesh = await sessionMesh(t);
  await start(mesh, 'ada');
  const eve: TenantCaller = { ...byKey, tenantId: 2 };
  t.deepEqual((await mesh.app.listCustomerSessions(eve, { externalCustomerId: 'ada' })).sessionIds, []);
  t.like(await mesh.app.customerUsage(eve, { externalCustomerId: 'ada' }), {
    sessionCount: 0,
    tokensIn: 0,
    costUsd: 0,
  });
});

test('a cursor of another list and an invalid page size are refused', async (t) => {
  const mesh = await sessionMesh(t);
  const id = await start(mesh, 'ada');
  const cursors = createCustomerCursors([{ id: 'k1', key: Buffer.alloc(32, 7) }]);
  const good = cursors.cursorOf({ tenantId: 1, externalCustomerId: 'ada' }, id);
  const wrong = {
    "another customer's": cursors.cursorOf({ tenantId: 1, externalCustomerId: 'eve' }, id),
    "another tenant's": cursors.cursorOf({ tenantId: 2, externalCustomerId: 'ada' }, id),
    'of another key': createCustomerCursors([{ id: 'k1', key: Buffer.alloc(32, 8) }]).cursorOf(
      { tenantId: 1, externalCustomerId: 'ada' },
      id,
    ),
    'cut short': good.slice(0, -2),
    'in another spelling': `${good}=`,
    longer: `${good}AA`,
    'a number': '1',
    empty: '',
  };
  for (const [what, after] of Object.entries(wrong)) {
    const error = await t.throwsAsync(mesh.app.listCustomerSessions(byKey, { externalCustomerId: 'ada', after }));
    t.like(error, { kind: 'invalid', fields: [{ path: 'after' }] }, what);
  }
  for (const first of [0, -1, 101]) {
    const error = await t.throwsAsync(mesh.app.listCustomerSessions(byKey, { externalCustomerId: 'ada', first }));
    t.like(error, { kind: 'invalid', fields: [{ path: 'first' }] });
  }
  // A null page size means the default. Cursors that were signed with an old key are still valid.
  const rotated = createCustomerCursors([
    { id: 'k2', key: Buffer.alloc(32, 9) },
    { id: 'k1', key: Buffer.alloc(32, 7) },
  ]);
  t.is(rotated.readCursor({ tenantId: 1, externalCustomerId: 'ada' }, good), id);
  await t.notThrowsAsync(mesh.app.listCustomerSessions(byKey, { externalCustomerId: 'ada', first: null, after: null }));
});

test("a customer's usage is the exact sum over the messages of all its sessions, ended or active", async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent } = mesh;
  agent.script = async function* () {
    yield text('Yes.');
    yield finished(); // the usage of each reply: 20 input tokens, 5 output tokens and 150e-8 USD
  };
  const sessions = [await start(mesh, 'ada'), await start(mesh, 'ada'), await start(mesh, 'eve')];
  let replies = 0;
  for (const sessionId of sessions) {
    const subscriber = subscribe(t, app, sessionId, { after: '0' });
    for (let each = 1; each <= 3; each += 1) {
      await app.sendMessage(inTenant(1), { sessionId, text: 'Hi' });
      await subscriber.until('the reply', isTurnEnd, each);
      replies += 1;
    }
  }
  await app.endSession(inTenant(1), String(sessions[0]));
  t.is(replies, 9);
  const usage = await app.customerUsage(byKey, { externalCustomerId: 'ada' });
  t.deepEqual(usage, { externalCustomerId: 'ada', sessionCount: 2, tokensIn: 120, tokensOut: 30, costUsd: 0.000009 });

  // Each read is one snapshot. So the sums of tokens and costs match one another, even while sessions are running.
  for (let each = 0; each < 5; each += 1)
    await app.sendMessage(inTenant(1), { sessionId: sessions[1] ?? 0, text: 'Hi' });
  await eventually('all replies are counted', async () => {
    const now = await app.customerUsage(byKey, { externalCustomerId: 'ada' });
    t.is(now.tokensIn, 4 * now.tokensOut);
    t.true(Math.abs(now.costUsd - (now.tokensOut / 5) * 0.0000015) < 1e-12);
    return now.tokensOut === 55;
  });
});

test('queries by customer use their indexes', async (t) => {
  const { database } = await sessionMesh(t);
  const plan = await database.transact(1, async ({ knex }) => {
    await knex.raw('SET LOCAL enable_seqscan TO off');
    const { rows } = await knex.raw(
      `EXPLAIN SELECT id FROM sessions WHERE tenant_id = 1 AND client_hash = hashtextextended('ada', 0)
         AND client_external_id = 'ada' AND id < 7 ORDER BY id DESC LIMIT 21`,
    );
    return JSON.stringify(rows);
  });
  t.regex(plan, /Index Cond: \(\(tenant_id = 1\) AND \(client_hash = /);
});

test('an ended session stores its sums; if an older process ended it, its messages are summed', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, database } = mesh;
  agent.script = async function* () {
    yield text('Yes.');
    yield finished();
  };
  const sessions = [await start(mesh, 'ada'), await start(mesh, 'ada')];
  for (const sessionId of sessions) {
    await app.sendMessage(inTenant(1), { sessionId, text: 'Hi' });
    await subscribe(t, app, sessionId, { after: '0' }).until('the reply', isTurnEnd);
    await app.endSession(inTenant(1), String(sessionId));
  }
  const kept = () => database.transact(1, ({ knex }) => knex('sessions').orderBy('id').pluck('tokensIn'));
  t.deepEqual((await kept()).map(Number), [20, 20]);
  const expected = { sessionCount: 2, tokensIn: 40, tokensOut: 10 };
  t.like(await app.customerUsage(byKey, { externalCustomerId: 'ada' }), expected);
  await database.transact(1, ({ knex }) =>
    knex('sessions').where({ id: sessions[0] }).update({ tokens_in: null, tokens_out: null, cost_usd: null }),
  );
  t.like(await app.customerUsage(byKey, { externalCustomerId: 'ada' }), expected);
  // Usage of ended sessions comes from the session row; their messages are not read again.
  await database.transact(1, ({ knex }) => knex('sessions').where({ id: sessions[1] }).update({ tokens_in: 1_000 }));
  t.like(await app.customerUsage(byKey, { externalCustomerId: 'ada' }), { tokensIn: 1_020 });
});
