import { answerBudget } from '@parley/kernel/answer-budget';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { answerDatabase, wholeRowsDatabase } from '../src/database/answer-database.ts';
import { columnsWithin, listWithin } from '../src/database/list-within.ts';
import { column, table } from '../src/database/table.ts';
import type { Database, SharedDb, TenantDb } from '../src/database/types.ts';

const notes = table('notes', { id: column<number>(), text: column<string>({ long: "''" }) });
const fields = { times: () => 1, objectBytes: 100 };
const tooLarge = { message: 'The answer is too large; ask for less at a time' };

function listNotes(db: TenantDb) {
  return listWithin<{ id: number; text: string }>(db, db.knex('notes').select(db.knex.raw(columnsWithin(db, notes))));
}

async function threeNotes(database: Database): Promise<Database> {
  await database.transact(1, ({ knex }) =>
    knex('notes').insert(Array.from({ length: 3 }, () => ({ tenantId: 1, text: 'x'.repeat(900) }))),
  );
  return database;
}

test('lists of one answer are read one after another, without waiting for other answers', async (t) => {
  const database = await testSchema(t, notesSchema);
  const gate = createGate();
  const begun: number[] = [];
  const engine: Database = {
    ...database,
    async transact(tenantId, work, options) {
      begun.push(tenantId);
      if (tenantId === 1) await gate.pass();
      return database.transact(tenantId, work, options);
    },
  };
  const list = (tenantId: number, bounded: Database) => bounded.transact(tenantId, async () => undefined);
  const bounded = answerDatabase(engine, answerBudget(1_000), fields);
  const held = [list(1, bounded), list(1, bounded), list(1, bounded)];
  await list(2, answerDatabase(engine, answerBudget(1_000), fields));
  t.deepEqual(begun, [1, 2]);
  gate.open();
  await Promise.all(held);
  t.is(begun.length, 4);
});

test('the budget is shared by all lists of an answer, read-only or not', async (t) => {
  const database = await threeNotes(await testSchema(t, notesSchema));
  const bounded = answerDatabase(database, answerBudget(2 * 3_000 + 2_999), fields);
  t.is((await bounded.transact(1, listNotes)).length, 3);
  t.is((await bounded.read(1, listNotes)).length, 3);
  t.like(await t.throwsAsync(bounded.transact(1, listNotes), tooLarge), { reason: 'ANSWER_TOO_LARGE' });
});

test('lists of people count in the same budget as those of a tenant', async (t) => {
  const database = await threeNotes(await testSchema(t, notesSchema));
  await database.transactShared(({ knex }) => knex('people').insert({ email: 'ada@example.test' }));
  const people = table('people', { id: column<number>(), email: column<string>() });
  const listPeople = (db: SharedDb) =>
    listWithin<{ email: string }>(db, db.knex('people').select(db.knex.raw(columnsWithin(db, people))));
  const bounded = answerDatabase(database, answerBudget(3_000 + 150), fields);
  t.is((await bounded.transact(1, listNotes)).length, 3);
  t.like(await bounded.transactShared(listPeople), { 0: { email: 'ada@example.test' }, length: 1 });
  t.like(await t.throwsAsync(bounded.transactShared(listPeople), tooLarge), { reason: 'ANSWER_TOO_LARGE' });
});

test('lists of whole rows are bounded per transaction; a list without a bound throws', async (t) => {
  const database = await threeNotes(await testSchema(t, notesSchema));
  const bounded = wholeRowsDatabase(database, 4_000);
  for (let n = 0; n < 3; n += 1) t.is((await bounded.transact(1, listNotes))[0]?.text.length, 900);
  await t.throwsAsync(wholeRowsDatabase(database, 3_000).transact(1, listNotes), tooLarge);
  await t.throwsAsync(database.transact(1, listNotes), { message: /without a bound/ });
});
