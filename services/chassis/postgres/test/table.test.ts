import { onEveryDatabase } from '@parley/testing/every-database';
import { notesSchema } from '@parley/testing/notes-schema';
import { columnsWithin, listWithin } from '../src/database/list-within.ts';
import { column, columnsOf, type RowOf, table, written } from '../src/database/table.ts';

/** Some columns of a table that every schema has: among them a bigint and a JSON column. */
const works = table('jobs', {
  id: column<number>(),
  kind: column<string>(),
  key: column<string>({ long: "''" }),
  tenantId: column<number | null>(),
  payload: column<unknown>({ json: true, long: true }),
  leaseOwner: column<string | null>(),
  isShared: column<boolean>({ sql: (work) => `${work}.tenant_id IS NULL` }),
});

type Work = RowOf<typeof works>;

const stored = (given: Partial<Work> & { key: string }) => ({
  kind: 'work',
  payload: {},
  runAt: new Date(0),
  createdAt: new Date(0),
  ...given,
});

onEveryDatabase(({ test, testSchema }) => {
  test('rows are written, queried and read by field names', async (t) => {
    const database = await testSchema(t, notesSchema);

    await database.transactShared(async ({ knex }) => {
      const [added] = await knex('jobs')
        .insert(stored({ key: 'a', tenantId: 7 }))
        .returning(['id', 'tenantId', 'runAt']);
      t.deepEqual(added, { id: 1, tenantId: 7, runAt: new Date(0) });
      t.is(await knex('jobs').where({ tenantId: 7 }).update({ leaseOwner: 'me', error: undefined }), 1);
      await knex('jobs').insert(stored({ key: 'b', leaseOwner: 'me' }));

      const mine = () => knex<Work>('jobs').where({ leaseOwner: 'me' });
      t.like(await mine().orderBy('createdAt').orderBy('tenantId').first(), {
        key: 'a',
        tenantId: 7,
        leaseOwner: 'me',
      });
      t.deepEqual(await mine().orderBy('tenantId').pluck('tenantId'), [7, null]);
      t.deepEqual(await mine().whereIn('tenantId', [7]).select({ ofWhom: 'tenantId' }), [{ ofWhom: 7 }]);
      t.deepEqual(
        await knex('jobs as other').join('jobs', 'jobs.tenantId', 'other.tenantId').pluck('other.leaseOwner'),
        ['me'],
      );
      t.like(await mine().count({ howMany: '*' }).first(), { howMany: 2 });
      t.deepEqual(
        (await knex.raw('SELECT tenant_id, lease_owner AS "leaseOwner" FROM jobs WHERE tenant_id = 7')).rows,
        [{ tenantId: 7, leaseOwner: 'me' }],
      );
      t.is(await mine().delete(), 2);
    });
  });

  test('names inside of JSON stay unchanged, in an object, array, text or null', async (t) => {
    const database = await testSchema(t, notesSchema);
    const values = [{ inner_key: [{ a_b: 1, aB: 2 }] }, ['x', 'y_z'], [], 'text', 0, false];

    await database.transactShared(async ({ knex }) => {
      for (const [at, payload] of values.entries()) {
        await knex('jobs').insert(written(works, stored({ key: String(at), payload })));
      }
      t.deepEqual(await knex('jobs').orderBy('id').pluck('payload'), values);
      await knex('jobs')
        .where({ key: '0' })
        .update(written(works, { payload: ['new'], leaseOwner: undefined }));
      t.deepEqual(await knex('jobs').where({ key: '0' }).pluck('payload'), [['new']]);
    });
    t.deepEqual(written(works, { payload: null, key: 'k' }), { payload: null, key: 'k' });
  });

  test('a bigint is read as a number, and throws if that is not exact', async (t) => {
    const database = await testSchema(t, notesSchema);
    const read = (sql: string) => database.transactShared(async ({ knex }) => (await knex.raw(sql)).rows);

    t.deepEqual(await read(`SELECT count(*) AS all_rows, 9007199254740991::bigint AS largest FROM jobs`), [
      { allRows: 0, largest: Number.MAX_SAFE_INTEGER },
    ]);
    await t.throwsAsync(read('SELECT 9007199254740993::bigint AS larger'), {
      message: /9007199254740993 is too large/,
    });
    t.deepEqual(await read('SELECT 1.50::numeric AS exact'), [{ exact: '1.50' }]);
  });

  test('a whole row has all declared columns, computed ones included, under any alias', async (t) => {
    const database = await testSchema(t, notesSchema);

    await database.transactShared(async ({ knex }) => {
      const [added] = await knex('jobs')
        .insert(stored({ key: 'a', payload: { x: 1 } }))
        .returning(knex.raw(columnsOf(works)));
      const { id, ...rest } = added;
      t.is(typeof id, 'number');
      t.deepEqual(rest, {
        kind: 'work',
        key: 'a',
        tenantId: null,
        payload: { x: 1 },
        leaseOwner: null,
        isShared: true,
      });
      const { rows } = await knex.raw(
        `SELECT ${columnsOf(works, 'work')} FROM jobs AS work JOIN jobs AS other ON other.id = work.id`,
      );
      t.deepEqual(rows, [added]);
    });
  });

  test('a list reads and counts long columns only where they are selected', async (t) => {
    const database = await testSchema(t, notesSchema);
    const list = (...asked: string[]) =>
      database.transactShared(async (db) => {
        const fields = { times: (field: string) => Number(asked.includes(field)), objectBytes: 100 };
        let bytes = 0;
        const allowance = { remainingBytes: 1_000, charge: (more: number) => void (bytes += more) };
        const answering = { knex: db.knex, answer: { allowance, fields } };
        const query = db.knex('jobs').select(db.knex.raw(columnsWithin(answering, works)));
        const [row] = await listWithin<Work>(answering, query);
        return { row, bytes };
      });
    await database.transactShared(({ knex }) => knex('jobs').insert(stored({ key: 'long key', payload: { x: 1 } })));

    const shown = { kind: 'work', tenantId: null, leaseOwner: null, isShared: true };
    const without = await list();
    t.like(without, { row: { ...shown, key: '' }, bytes: 100 });
    t.false('payload' in (without.row ?? {}));
    t.like(await list('key'), { row: { ...shown, key: 'long key' }, bytes: 108 });
    t.like(await list('key', 'payload'), { row: { ...shown, key: 'long key', payload: { x: 1 } }, bytes: 116 });
  });
});
