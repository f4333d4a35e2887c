import { onEveryDatabase } from '@parley/testing/every-database';
import { notesSchema } from '@parley/testing/notes-schema';
import { rowsBy } from '../src/database/rows.ts';

onEveryDatabase(({ test, testSchema }) => {
  test('rowsBy binds each parameter to its value, and returns rows in camelCase', async (t) => {
    const database = await testSchema(t, notesSchema);
    const read = (values: Record<string, unknown>) =>
      database.transact(1, ({ knex }) =>
        rowsBy(knex)(
          `SELECT cast(:some AS text) AS some_text, :many::int[] AS many, cast(:some AS text) || '?' AS again, '1'::int AS one`,
          values,
        ),
      );
    const expected = { someText: 'a ? :b', many: [1, 2], again: 'a ? :b?', one: 1 };
    for (let n = 0; n < 5; n += 1) t.deepEqual(await read({ some: 'a ? :b', many: [1, 2] }), [expected]);
    t.deepEqual(await read({ some: null, many: [] }), [{ someText: null, many: [], again: null, one: 1 }]);
    await t.throwsAsync(read({ some: 'a' }), { message: 'a statement lacks the value of :many' });
  });

  test('rowsBy runs within its transaction, also in a savepoint, and not after its end', async (t) => {
    const database = await testSchema(t, notesSchema);
    const add = `INSERT INTO notes (tenant_id, text) VALUES (1, :text) RETURNING text`;
    const knex = await database.transact(1, async (db) => {
      await rowsBy(db.knex)(add, { text: 'kept' });
      await t.throwsAsync(
        db.knex.transaction(async (savepoint) => {
          await rowsBy(savepoint)(add, { text: 'undone' });
          await rowsBy(savepoint)(add, { text: null });
        }),
        { code: '23502' },
      );
      return db.knex;
    });
    await t.throwsAsync(rowsBy(knex)(add, { text: 'late' }), { message: /already complete/ });
    t.deepEqual(await database.transact(1, (db) => db.knex('notes').pluck('text')), ['kept']);
  });
});
