import test from 'ava';
import type { Opening } from '../src/database/opening-client.ts';
import { openPool } from '../src/database/pool.ts';
import type { TenantDb } from '../src/database/types.ts';
import { testDatabaseUrl } from '../src/testing/test-database.ts';
import { testSchema } from '../src/testing/test-schema.ts';
import { notesSchema } from './support/notes-schema.ts';

const addNote = ({ knex, tenantId }: TenantDb) => knex('notes').insert({ tenant_id: tenantId, text: 'a note' });
const countNotes = async ({ knex }: TenantDb): Promise<number> => (await knex('notes')).length;

test('a transaction and all that it begins with cost one round trip', async (t) => {
  const pool = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
  t.teardown(() => pool.destroy());
  const sent: string[] = [];
  pool.on('query', ({ sql }: { sql: string }) => sent.push(sql));
  const opening: Opening = { opening: `SET LOCAL search_path TO pg_catalog; SET LOCAL parley.tenant TO '7'` };

  const rows = await pool.transaction(async (transaction) => {
    const result = await transaction.raw(`SELECT current_setting('parley.tenant') AS tenant`);
    return result.rows;
  }, opening);

  t.deepEqual(rows, [{ tenant: '7' }]);
  t.deepEqual(sent, [`BEGIN; ${opening.opening}`, `SELECT current_setting('parley.tenant') AS tenant`, 'COMMIT;']);
});

test('a transaction that may not begin as it should runs nothing, and leaves its connection in order', async (t) => {
  const pool = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
  t.teardown(() => pool.destroy());
  const opening: Opening = { opening: 'SET LOCAL search_path TO pg_catalog; SET LOCAL ROLE nobody_is_called_this' };

  const error = await t.throwsAsync(pool.transaction(async () => t.fail('its work was called'), opening));

  t.regex(error?.message ?? '', /role "nobody_is_called_this" does not exist/);
  t.deepEqual((await pool.raw('SELECT 1 AS one')).rows, [{ one: 1 }]);
  t.regex((await pool.raw('SHOW search_path')).rows[0].search_path, /public/);
});

test('a savepoint inside a transaction is none that begins anew', async (t) => {
  const database = await testSchema(t, notesSchema);

  await database.transact(1, async (db) => {
    await t.throwsAsync(
      db.knex.transaction(async (savepoint) => {
        await addNote({ ...db, knex: savepoint });
        throw new Error('undone');
      }),
      { message: 'undone' },
    );
    await db.knex.transaction((savepoint) => addNote({ ...db, knex: savepoint }));
  });

  t.is(await database.transact(1, countNotes), 1);
});

test('what is read is answered before its transaction has ended, for the tenant alone', async (t) => {
  const database = await testSchema(t, notesSchema);
  await database.transact(1, addNote);
  const ended = Promise.withResolvers<void>();
  let hasEnded = false;

  const count = await database.read(1, (db) => {
    db.afterCommit(() => {
      hasEnded = true;
      ended.resolve();
    });
    return countNotes(db);
  });

  t.is(count, 1);
  t.false(hasEnded);
  await t.notThrowsAsync(ended.promise);
  t.is(await database.read(2, countNotes), 0);
});

test('who reads changes nothing, and is told what failed', async (t) => {
  const database = await testSchema(t, notesSchema, { poolSize: 1 });

  await t.throwsAsync(database.read(1, addNote), { message: /read-only transaction/ });
  await t.throwsAsync(
    database.read(1, async (db) => {
      await addNote(db).catch(() => undefined);
      return 'all is well';
    }),
    { message: /its error was swallowed/ },
  );

  t.is(await database.transact(1, countNotes), 0);
});
