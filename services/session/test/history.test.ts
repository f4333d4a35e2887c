import { setImmediate as nextTick } from 'node:timers/promises';
import { wholeRowsDatabase } from '@parley/postgres/database/answer-database';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { turnStore } from '../src/turn-store.ts';
import { inTenant, isReply, oneAtATime, sessionMesh, subscribe } from './session-mesh.ts';

/**
 * Whether tests run on a PostgreSQL server. The embedded database runs one transaction at a time, so no other
 * transaction can be running.
 */
const isServer = Boolean(process.env['TEST_DATABASE_URL']);

/** Inserts a session with a number of exchanges, plus one message without a reply. */
async function insertLongSession(
  database: Database,
  exchanges: number,
): Promise<{ sessionId: number; turnId: number }> {
  return database.transact(1, async ({ knex }) => {
    const sessions = await knex.raw(
      `INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, next_turn_index, started_at, last_event_at)
       VALUES (1, 1, 'ACTIVE', 'x', ?, parley_now(), parley_now()) RETURNING id`,
      [2 * exchanges + 1],
    );
    const sessionId: number = sessions.rows[0].id;
    await knex.raw(
      `INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
       SELECT 1, :sessionId, CASE n % 2 WHEN 0 THEN 'USER' ELSE 'MODEL' END, 'message ' || n, n, n - n % 2, 8
         FROM generate_series(0, 2 * cast(:exchanges AS integer)) AS n`,
      { sessionId, exchanges },
    );
    const turns = await knex.raw(
      `INSERT INTO turns (tenant_id, session_id, turn_index, state) VALUES (1, ?, ?, 'QUEUED') RETURNING id`,
      [sessionId, 2 * exchanges],
    );
    return { sessionId, turnId: turns.rows[0].id };
  });
}

test('the history is the newest whole exchanges within the token limit, oldest first, up to the message to answer', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const { turnId } = await insertLongSession(database, 50);
  const prepare = (tokens: number) => database.transact(1, (db) => turnStore(db).prepare(turnId, 1, tokens));
  // A message has 8 tokens and an exchange 16, so most of these limits fall inside an exchange.
  for (const tokens of [1, 8, 16, 23, 24, 25, 32, 39, 40, 44, 48, 55, 56, 800, 807, 100_000]) {
    const exchanges = Math.max(0, Math.min(50, Math.floor((tokens - 8) / 16)));
    const { history, historyTokens } = (await prepare(tokens)) ?? t.fail();
    t.deepEqual(
      history,
      Array.from({ length: 2 * exchanges + 1 }, (_, at) => 100 - 2 * exchanges + at).map((n) => ({
        role: n % 2 === 0 ? 'USER' : 'MODEL',
        text: `message ${n}`,
      })),
      `${tokens} tokens`,
    );
    t.is(historyTokens, 8 * (2 * exchanges + 1));
  }
});

test('the message limit drops an exchange that would be split, but not a greeting', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const historyOf = async (exchanges: number, without: (n: number) => string) => {
    const { sessionId, turnId } = await insertLongSession(database, exchanges);
    return database.transact(1, async (db) => {
      await db.knex('messages').where({ session_id: sessionId }).whereRaw(without(exchanges)).delete();
      const { history = [] } = (await turnStore(db).prepare(turnId, 1, 100_000)) ?? {};
      return history.map(({ role, text }) => `${role} ${text.slice('message '.length)}`);
    });
  };
  const whole = await historyOf(150, () => 'false');
  t.deepEqual([whole.length, whole[0], whole.at(-1)], [199, 'USER 102', 'USER 300']);
  // A failed turn has one message less, so an exchange that exceeded the limit now fits.
  const failed = await historyOf(150, () => 'turn_index = 201');
  t.deepEqual([failed.length, failed[0]], [200, 'USER 100']);
  // An exchange that consists of a greeting has one message. Counted from the newest message, the greeting is number 200 in the first case
  // below and number 201, one too many, in the second.
  const greeted = (failedTurns: number) => () =>
    `turn_index = 0 OR turn_index % 2 = 1 AND turn_index BETWEEN 3 AND ${1 + 2 * failedTurns}`;
  const fits = await historyOf(100, greeted(0));
  t.deepEqual([fits.length, fits[0]], [200, 'MODEL 1']);
  const exceeding = await historyOf(101, greeted(1));
  t.deepEqual([exceeding.length, exceeding[0]], [200, 'USER 2']);
});

test('`accept` reads the same history as a later `prepare`', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  for (const historyTokens of [1, 23, 40, 44, 1_000, 100_000]) {
    for (const exchanges of [0, 1, 50, 99, 100, 150]) {
      const { sessionId, turnId } = await insertLongSession(database, exchanges);
      await database.transact(1, async (db) => {
        await db.knex('turns').where({ id: turnId }).update({ state: 'DONE' });
        const text = 'And then?';
        const taken = { sessionId, text, clientTurnId: 'c', testDraft: true, historyTokens };
        const accepted = await turnStore(db).accept(taken);
        t.truthy(accepted?.prepared);
        t.is(accepted?.prepared?.history.at(-1)?.text, text);
        t.deepEqual(
          accepted?.prepared,
          await turnStore(db).prepare(accepted?.turnId ?? t.fail(), 1, historyTokens),
          `${exchanges} exchanges, ${historyTokens} tokens`,
        );
      });
    }
  }
});

test('a message behind an open turn is accepted without its history', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const { sessionId, turnId } = await insertLongSession(database, 3);
  const taken = { sessionId, text: 'And?', clientTurnId: null, testDraft: false, historyTokens: 1_000 };
  const accept = () => database.transact(1, (db) => turnStore(db).accept(taken));
  const behind = await accept();
  t.is(behind?.prepared, undefined);
  t.is(behind?.turnIndex, 7);
  await database.transact(1, ({ knex }) =>
    knex('turns')
      .whereIn('id', [turnId, behind?.turnId ?? 0])
      .update({ state: 'DONE' }),
  );
  t.truthy((await accept())?.prepared);
});

test('a message that waited for the lock gets the whole history or none', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const { sessionId, turnId } = await insertLongSession(database, 3);
  await database.transact(1, ({ knex }) => knex('turns').where({ id: turnId }).update({ state: 'DONE' }));
  const taken = { sessionId, text: 'And?', clientTurnId: null, testDraft: false, historyTokens: 1_000 };
  const reply = {
    text: 'Re',
    tokensIn: 1,
    tokensOut: 1,
    costUsdE8: 0n,
    modelId: null,
    finishReason: null,
    tokensEstimated: false,
    contextTokens: 1,
    citations: null,
    toolCalls: [],
    structuredContent: null,
    interrupted: false,
  };
  let processId = 0;
  // The embedded database runs one transaction at a time, so the other transaction has not begun.
  const isWaiting = async ({ knex }: TenantDb) => {
    if (!isServer) return true;
    const { rows } = await knex.raw('SELECT cardinality(pg_blocking_pids(?)) > 0 AS waiting', [processId]);
    return rows[0].waiting;
  };

  const { late } = await database.transact(1, async (db) => {
    const { turnId: id = 0, turnIndex = 0 } = (await turnStore(db).accept(taken)) ?? {};
    await turnStore(db).storeReply(sessionId, { id, turnIndex }, reply, '9999999999999-0');
    const accepting = database.transact(1, async (other) => {
      processId = (await other.knex.raw('SELECT pg_backend_pid() AS id')).rows[0].id;
      const accepted = await turnStore(other).accept({ ...taken, text: 'And now?' });
      return { accepted, read: await turnStore(other).prepare(accepted?.turnId ?? 0, 1, 1_000) };
    });
    while (!(await isWaiting(db))) await nextTick();
    return { late: accepting };
  });

  const { accepted, read } = await late;
  t.deepEqual(read?.history.slice(-3, -1), [
    { role: 'USER', text: 'And?' },
    { role: 'MODEL', text: 'Re' },
  ]);
  t.deepEqual(accepted?.prepared, isServer ? undefined : read);
});

test('the history reads one index range, whatever the length of the session and of others', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  // Other tenants' messages lie between those of this session. So the planner expects few messages for each session,
  // spread over many pages, and prefers to read and sort all of them.
  const others = [1, 2, 3, 4, 5];
  for (const tenantId of others)
    await database.transact(tenantId, ({ knex }) =>
      knex.raw(
        `INSERT INTO sessions (tenant_id, agent_id, status, client_external_id)
         SELECT ?, 1, 'ACTIVE', 'x' FROM generate_series(1, 10)`,
        [tenantId],
      ),
    );
  for (let from = 0; from < 400; from += 20)
    for (const tenantId of others)
      await database.transact(tenantId, ({ knex }) =>
        knex.raw(
          `INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
           SELECT tenant_id, id, 'USER', 'message', n, n, 8 FROM sessions, generate_series(1 + :from, 20 + :from) AS n`,
          { from },
        ),
      );
  const { turnId } = await insertLongSession(database, 5_000);
  await database.transact(1, ({ knex }) => knex.raw('SET LOCAL ROLE NONE; ANALYZE messages'));
  const plan: string = await database.transact(1, async (db) => {
    const { knex } = db;
    const statements: { sql: string; bindings: number[] }[] = [];
    knex.on('query', (query: { sql: string; bindings: number[] }) => statements.push(query));
    await turnStore(db).prepare(turnId, 1, 6_000);
    const { sql, bindings } = statements.at(-1) ?? t.fail();
    const { rows } = await knex.raw(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) ${sql.replace(/\$\d+/g, '?')}`, bindings);
    return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
  });
  const pages = Number(/Buffers: shared hit=(\d+)/.exec(plan)?.[1]);
  t.true(pages < 60, plan); // all messages of the session together are on more than 130 pages
});

test('a queued message is answered after the reply before it, which is in its history', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_HISTORY_TOKENS: '20' } });
  const { id } = await app.startSession(inTenant(1), { agentId: 2, clientExternalId: 'x' });
  const subscriber = subscribe(t, app, id, { after: '0' });
  for (const text of ['one', 'two', 'three']) await app.sendMessage(inTenant(1), { sessionId: id, text });
  await subscriber.until('a greeting and three replies', isReply, 4);
  t.deepEqual(
    agent.calls.map(({ request }) => request.history.map(({ text }) => text)),
    [
      ['Hello there', 'one'],
      ['one', 'Re: one', 'two'],
      ['two', 'Re: two', 'three'],
    ],
  );
});

test('messages of many sessions are read by one query, whole or in pages', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const a = await insertLongSession(database, 2);
  const b = await insertLongSession(database, 1);
  const { messageStore } = await import('../src/message-store.ts');
  await wholeRowsDatabase(database).transact(1, async (db) => {
    let queries = 0;
    db.knex.on('query', () => (queries += 1));
    const read = (ids: number[], page: { first?: number; after?: number | undefined }) =>
      messageStore(db).listOf(ids, page);
    const whole = await read([b.sessionId, a.sessionId, 999], {});
    t.is(queries, 1);
    t.deepEqual(
      [...whole].map(([id, messages]) => [id, messages.map(({ turnIndex }) => turnIndex)]),
      [
        [b.sessionId, [0, 1, 2]],
        [a.sessionId, [0, 1, 2, 3, 4]],
        [999, []],
      ],
    );
    const [, second] = whole.get(a.sessionId) ?? [];
    const page = await read([a.sessionId], { first: 2, after: second?.id });
    t.deepEqual(
      page.get(a.sessionId)?.map(({ turnIndex }) => turnIndex),
      [2, 3],
    );
  });
});
