import type { Database } from '@parley/chassis/database/types';
import { testSchema } from '@parley/chassis/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { turnStore } from '../src/turn-store.ts';
import { inTenant, inTurn, isReply, sessionMesh, watch } from './session-mesh.ts';

/** A session of so many exchanges, and one more message that is to be answered. */
async function longSession(database: Database, exchanges: number): Promise<{ sessionId: number; turnId: number }> {
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

test('the history is the newest part that fits, oldest first, and ends with the message to answer', async (t) => {
  const database = await inTurn(() => testSchema(t, sessionSchema));
  const { turnId } = await longSession(database, 50);
  const prepare = (tokens: number) => database.transact(1, (db) => turnStore(db).prepare(turnId, 1, tokens));
  t.deepEqual(
    (await prepare(40))?.history,
    [96, 97, 98, 99, 100].map((n) => ({ role: n % 2 === 0 ? 'USER' : 'MODEL', text: `message ${n}` })),
  );
  t.is((await prepare(40))?.historyTokens, 40);
  t.is((await prepare(100_000))?.history.length, 101);
  t.is((await prepare(1))?.history.length, 1, 'the message itself is sent, however little fits');
});

test('ten thousand messages are as quick to read as ten: one range of one index', async (t) => {
  const database = await inTurn(() => testSchema(t, sessionSchema));
  const { sessionId } = await longSession(database, 5_000);
  await longSession(database, 500);
  const plan: string = await database.transact(1, async ({ knex }) => {
    await knex.raw(`UPDATE turns SET state = 'QUEUED'`);
    const statements: { sql: string; bindings: number[] }[] = [];
    knex.on('query', (query: { sql: string; bindings: number[] }) => statements.push(query));
    const turn = await knex('turns').where({ session_id: sessionId }).first();
    await turnStore({ knex, tenantId: 1, afterCommit: () => undefined, wake: () => undefined }).prepare(
      turn.id,
      1,
      6_000,
    );
    const { sql, bindings } = statements.at(-1) ?? t.fail();
    const { rows } = await knex.raw(`EXPLAIN (ANALYZE, TIMING OFF) ${sql.replace(/\$\d+/g, '?')}`, bindings);
    return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n');
  });
  t.regex(plan, /Index Scan using messages_by_exchange on messages.*rows=200\b/, plan);
  t.notRegex(plan, /Seq Scan on messages/, plan);
  t.notRegex(plan, /Sort Key: messages/, plan);
});

test('a message that waited is answered after the reply to the one before it, and sees that reply', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_HISTORY_TOKENS: '20' } });
  const { id } = await app.startSession(inTenant(1), { agentId: 2, clientExternalId: 'x' });
  const watching = watch(t, app, id, { after: '0' });
  for (const text of ['one', 'two', 'three']) await app.sendMessage(inTenant(1), { sessionId: id, text });
  await watching.until('a greeting and three replies', isReply, 4);
  t.deepEqual(
    agent.calls.map(({ request }) => request.history.map(({ text }) => text)),
    [
      ['Hello there', 'one'],
      ['one', 'Re: one', 'two'],
      ['two', 'Re: two', 'three'],
    ],
  );
});

test('messages of many sessions are read by one query, whole or by pages', async (t) => {
  const database = await inTurn(() => testSchema(t, sessionSchema));
  const a = await longSession(database, 2);
  const b = await longSession(database, 1);
  const { messageStore } = await import('../src/message-store.ts');
  await database.transact(1, async (db) => {
    let queries = 0;
    db.knex.on('query', () => (queries += 1));
    const whole = await messageStore(db).listOf([b.sessionId, a.sessionId, 999]);
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
    const page = await messageStore(db).listOf([a.sessionId], { first: 2, after: second?.id });
    t.deepEqual(
      page.get(a.sessionId)?.map(({ turnIndex }) => turnIndex),
      [2, 3],
    );
  });
});
