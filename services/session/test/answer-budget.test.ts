import { type AnswerBudget, answerBudget, type SelectedFields } from '@parley/kernel/answer-budget';
import { answerDatabase } from '@parley/postgres/database/answer-database';
import type { Database } from '@parley/postgres/database/types';
import { testSchema } from '@parley/testing/test-schema';
import test, { type ExecutionContext } from 'ava';
import { messageStore } from '../src/message-store.ts';
import { sessionSchema } from '../src/session-schema.ts';
import { sessionStore } from '../src/session-store.ts';
import { oneAtATime } from './session-mesh.ts';

const tooLarge = { message: 'The answer is too large; ask for less at a time' };
const objectBytes = 100;

function fieldsOf(...names: string[]): SelectedFields {
  return { objectBytes, times: (field) => names.filter((name) => name === field).length };
}

async function leftOf(budget: AnswerBudget): Promise<number> {
  return budget.runExclusive(async (room) => room.remainingBytes);
}

/** Inserts three sessions with 1,002 bytes of metadata each. Each session has four messages of 500 characters, which are 1,000 bytes. */
async function insertSessions(t: ExecutionContext) {
  const database = await oneAtATime(() => testSchema(t, sessionSchema));
  const sessionIds = await database.transact(1, async ({ knex }) => {
    const { rows } = await knex.raw(
      `WITH begun AS (
         INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, metadata)
         SELECT 1, 1, 'ACTIVE', 'x', to_jsonb(repeat('m', 1000)) FROM generate_series(1, 3) RETURNING id
       ), said AS (
         INSERT INTO messages (tenant_id, session_id, role, text, turn_index, exchange_index, token_estimate)
         SELECT 1, begun.id, 'USER', repeat('ü', 500), n, n, 1 FROM begun, generate_series(0, 3) AS n
       )
       SELECT id FROM begun ORDER BY id`,
    );
    return rows.map(({ id }: { id: number }) => id) as number[];
  });
  return { sessionIds, messages: messageReader(database), sessions: sessionReader(database), database };
}

function messageReader(database: Database) {
  return (budget: AnswerBudget, ids: number[], fields: SelectedFields, page: { first?: number; after?: number } = {}) =>
    answerDatabase(database, budget, fields).transact(1, (db) => messageStore(db).listOf(ids, page));
}

function sessionReader(database: Database) {
  return (
    budget: AnswerBudget,
    fields: SelectedFields,
    filter: { first?: number; after?: number; agentId?: number } = {},
  ) => answerDatabase(database, budget, fields).transact(1, (db) => sessionStore(db).list(filter));
}

test('messages are read if all fit the budget to the byte, else none', async (t) => {
  const { sessionIds, messages } = await insertSessions(t);
  const all = 12 * (objectBytes + 1_000);
  const budget = answerBudget(all);
  const found = await messages(budget, sessionIds, fieldsOf('text'));
  t.deepEqual(
    [...found.values()].map((list) => list.map(({ turnIndex, text }) => `${turnIndex} ${text.length}`)),
    sessionIds.map(() => ['0 500', '1 500', '2 500', '3 500']),
  );
  t.is(await leftOf(budget), 0);

  const tight = answerBudget(all - 1);
  t.like(await t.throwsAsync(messages(tight, sessionIds, fieldsOf('text')), tooLarge), {
    kind: 'invalid',
    reason: 'ANSWER_TOO_LARGE',
  });
});

test('after a list over budget all later ones are refused', async (t) => {
  const { sessionIds, messages, sessions } = await insertSessions(t);
  const budget = answerBudget(5_000);
  const refused = messages(budget, sessionIds, fieldsOf('text'));
  const after = sessions(budget, fieldsOf());
  await t.throwsAsync(refused, tooLarge);
  await t.throwsAsync(after, tooLarge);
});

test('aliased lists share one budget', async (t) => {
  const { sessionIds, messages } = await insertSessions(t);
  const budget = answerBudget(12 * 1_100 * 2 + 1_099);
  const asked = [{}, { first: 4 }, { first: 1 }].map((page) => messages(budget, sessionIds, fieldsOf('text'), page));
  const [whole, again, one] = await Promise.allSettled(asked);
  t.is(whole?.status, 'fulfilled');
  t.is(again?.status, 'fulfilled');
  t.like(one, { status: 'rejected', reason: { reason: 'ANSWER_TOO_LARGE' } });
});

test('a page can fit the budget where the whole list does not', async (t) => {
  const { sessionIds, messages } = await insertSessions(t);
  const [id = 0] = sessionIds;
  const first = await messages(answerBudget(2_500), [id], fieldsOf('text'), { first: 2 });
  const last = first.get(id)?.at(-1)?.id ?? 0;
  const rest = await messages(answerBudget(2_500), [id], fieldsOf('text'), { after: last });
  t.deepEqual(
    [...(first.get(id) ?? []), ...(rest.get(id) ?? [])].map(({ turnIndex }) => turnIndex),
    [0, 1, 2, 3],
  );
  await t.throwsAsync(messages(answerBudget(2_500), [id], fieldsOf('text')), tooLarge);
});

test('unselected fields are not read or counted, fields selected twice count twice', async (t) => {
  const { sessionIds, messages, sessions } = await insertSessions(t);
  const budget = answerBudget(12 * objectBytes);
  const [short] = (await messages(budget, sessionIds, fieldsOf('id'))).values();
  t.like(short, { 0: { text: '', turnIndex: 0 }, length: 4 });
  t.is(await leftOf(budget), 0);
  await t.throwsAsync(messages(answerBudget(12 * 1_100), sessionIds, fieldsOf('text', 'text')), tooLarge);

  const narrow = answerBudget(3 * objectBytes);
  t.like(await sessions(narrow, fieldsOf('id')), { 0: { metadata: null, clientExternalId: '' }, length: 3 });
  t.is(await leftOf(narrow), 0);
});

test('sessions are read newest first if all fit the budget, else none', async (t) => {
  const { sessionIds, sessions } = await insertSessions(t);
  const newestFirst = sessionIds.toReversed();
  const all = 3 * (objectBytes + 1_002 + 1);
  const fields = fieldsOf('metadata', 'clientExternalId');
  const budget = answerBudget(all);
  const whole = await sessions(budget, fields, { agentId: 1 });
  t.deepEqual(
    whole.map(({ id }) => id),
    newestFirst,
  );
  t.like(whole[0], { metadata: 'm'.repeat(1_000), clientExternalId: 'x' });
  t.is(await leftOf(budget), 0);

  await t.throwsAsync(sessions(answerBudget(all - 1), fields), tooLarge);
  const page = await sessions(answerBudget(all - 1), fields, { first: 2 });
  t.deepEqual(
    page.map(({ id }) => id),
    newestFirst.slice(0, 2),
  );
});

test('empty lists fit any budget', async (t) => {
  const { messages, sessions } = await insertSessions(t);
  t.deepEqual([...(await messages(answerBudget(0), [999_999], fieldsOf('text')))], [[999_999, []]]);
  t.deepEqual(await sessions(answerBudget(0), fieldsOf('metadata'), { agentId: 2 }), []);
  t.deepEqual([...(await messages(answerBudget(0), [], fieldsOf('text')))], []);
});

test('the database stops reading rows once the budget is exceeded', async (t) => {
  const { database } = await insertSessions(t);
  await database.transact(1, ({ knex }) =>
    knex.raw(`INSERT INTO sessions (tenant_id, agent_id, status, client_external_id, metadata)
              SELECT 1, 1, 'ACTIVE', 'y', to_jsonb(repeat('m', 1000)) FROM generate_series(1, 2000)`),
  );
  const bounded = answerDatabase(database, answerBudget(5_000), fieldsOf('metadata'));
  const plan = await bounded.transact(1, async (db) => {
    let statement: { sql: string; bindings: (string | number)[] } | undefined;
    db.knex.on('query', (query) => (statement ??= query));
    await t.throwsAsync(sessionStore(db).list({}), tooLarge);
    const { sql = '', bindings = [] } = statement ?? {};
    const { rows } = await db.knex.raw(`EXPLAIN (ANALYZE, TIMING OFF) ${sql.replaceAll(/\$\d+/g, '?')}`, bindings);
    return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n') as string;
  });
  t.regex(plan, /WindowAgg.*actual rows=5\b|WindowAgg.*actual rows=5\.00/, plan);
  t.notRegex(plan, /actual rows=20\d\d/, plan);
});
