import { setImmediate as nextTick } from 'node:timers/promises';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import { onDatabaseServer } from '@parley/testing/every-database';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { turnStore } from '../src/turn-store.ts';
import { oneAtATime } from './session-mesh.ts';

const reply = {
  text: 'Re',
  tokensIn: 1,
  tokensOut: 2,
  costUsdE8: 3n,
  modelId: 'script',
  finishReason: 'STOP' as const,
  tokensEstimated: false,
  contextTokens: 4,
  citations: null,
  toolCalls: [],
  structuredContent: null,
  interrupted: false,
};

/** Inserts a session whose only turn is running; its newest event has the id 5-5. */
async function insertRunning(database: Database): Promise<{ sessionId: number; id: number; turnIndex: number }> {
  return database.transact(1, async ({ knex }) => {
    const sessions = await knex.raw(
      `INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, next_turn_index, last_event_ms, last_event_n)
       VALUES (1, 1, 'ACTIVE', 'x', 1, 5, 5) RETURNING id`,
    );
    const sessionId: number = sessions.rows[0].id;
    const turns = await knex.raw(
      `INSERT INTO turns (tenant_id, session_id, turn_index, state) VALUES (1, ?, 0, 'RUNNING') RETURNING id`,
      [sessionId],
    );
    return { sessionId, id: turns.rows[0].id, turnIndex: 0 };
  });
}

const rowsOf = (database: Database) =>
  database.transact(1, async ({ knex }) => ({
    messages: await knex('messages').select('text', 'turnIndex'),
    events: (await knex('events').select('eventMs', 'eventN')).map(({ eventMs, eventN }) => `${eventMs}-${eventN}`),
    turns: await knex('turns').select('state', 'interrupted'),
    sessions: await knex('sessions').select('nextTurnIndex', 'lastEventMs'),
  }));

const interrupt = ({ knex }: TenantDb) => knex.raw('UPDATE turns SET interrupted = true');

test('a reply without anything else to do is stored with its event by one statement', async (t) => {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const { sessionId, ...turn } = await insertRunning(database);
  const store = (db: TenantDb) => turnStore(db).storeReplyUnlocked(sessionId, turn, reply, '5-6');
  t.like(await database.transact(1, store), { text: 'Re', turnIndex: 1, role: 'MODEL', modelId: 'script' });
  const stored = await rowsOf(database);
  t.deepEqual(stored, {
    messages: [{ text: 'Re', turnIndex: 1 }],
    events: ['5-6'],
    turns: [{ state: 'DONE', interrupted: false }],
    sessions: [{ nextTurnIndex: 2, lastEventMs: 5 }],
  });
  t.is(await database.transact(1, store), undefined, 'the same reply again');
  t.deepEqual(await rowsOf(database), stored);
});

for (const [why, change, eventId = '6-0'] of [
  ['it is interrupted', 'UPDATE turns SET interrupted = true'],
  ['its session is ending', `UPDATE sessions SET ending_as = 'ENDED'`],
  [
    'it has failed and its session has ended',
    `WITH ended AS (UPDATE sessions SET status = 'ENDED') UPDATE turns SET state = 'FAILED'`,
  ],
  ['a newer event is stored', 'SELECT 1', '5-5'],
  ['a newer event of an earlier moment is stored', 'SELECT 1', '4-9'],
] as const) {
  test(`a turn is not ended by one statement if ${why}`, async (t) => {
    const database = await oneAtATime(() => testSchema(t, sessionSchema));
    const { sessionId, ...turn } = await insertRunning(database);
    await database.transact(1, ({ knex }) => knex.raw(change));
    const before = await rowsOf(database);
    const stored = await database.transact(1, (db) =>
      turnStore(db).storeReplyUnlocked(sessionId, turn, reply, eventId),
    );
    t.is(stored, undefined);
    t.deepEqual(await rowsOf(database), before);
  });
}

onDatabaseServer(({ test, testSchema }) => {
  test('a reply that waited for an interrupt is not stored by one statement', async (t) => {
    const database = await oneAtATime(() => testSchema(t, sessionSchema));
    const { sessionId, ...turn } = await insertRunning(database);
    let processId = 0;
    const { storing } = await database.transact(1, async (db) => {
      await db.knex.raw('SELECT FROM sessions FOR UPDATE');
      await interrupt(db);
      const late = database.transact(1, async (other) => {
        processId = (await other.knex.raw('SELECT pg_backend_pid() AS id')).rows[0].id;
        return turnStore(other).storeReplyUnlocked(sessionId, turn, reply, '6-0');
      });
      for (let isWaiting = false; !isWaiting; await nextTick()) {
        const { rows } = await db.knex.raw('SELECT cardinality(pg_blocking_pids(?)) > 0 AS waiting', [processId]);
        isWaiting = rows[0].waiting;
      }
      return { storing: late };
    });
    t.is(await storing, undefined);
    t.deepEqual((await rowsOf(database)).messages, []);
  });
});
