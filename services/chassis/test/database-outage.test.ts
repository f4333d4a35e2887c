import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../src/database/open.ts';
import type { Database, TenantDb } from '../src/database/types.ts';
import { testDatabaseUrl } from '../src/testing/test-database.ts';
import { testSchema } from '../src/testing/test-schema.ts';
import { type DatabaseLine, databaseLine } from './support/database-line.ts';
import { notesSchema } from './support/notes-schema.ts';

// One after the other: a connection held open makes an embedded database wait for it.

/** A migrated schema of the test's own, reached by a line that can be cut. */
async function databaseOverLine(t: ExecutionContext): Promise<{ database: Database; line: DatabaseLine }> {
  const { schemaName } = await testSchema(t, notesSchema);
  const line = await databaseLine(await testDatabaseUrl());
  t.teardown(() => line.close());
  const database = openDatabase({
    url: line.url,
    schema: notesSchema,
    schemaName,
    poolSize: 1,
    statementTimeoutMs: 1_000,
  });
  t.teardown(() => database.close());
  return { database, line };
}

const addNote = ({ knex, tenantId }: TenantDb, text: string) => knex('notes').insert({ tenant_id: tenantId, text });
const texts = ({ knex }: TenantDb): Promise<string[]> => knex('notes').orderBy('id').pluck('text');

test.serial(
  'a connection that is lost inside a transaction makes it unavailable and undone, and the next one works',
  async (t) => {
    const { database, line } = await databaseOverLine(t);
    let committed = false;

    const error = await t.throwsAsync(
      database.transact(1, async (db) => {
        db.afterCommit(() => {
          committed = true;
        });
        await addNote(db, 'lost');
        await line.cut();
        await line.restore();
        await addNote(db, 'lost too');
      }),
    );

    t.like(error, { name: 'DomainError', kind: 'unavailable' });
    t.false(committed);
    await database.transact(1, (db) => addNote(db, 'kept'));
    t.deepEqual(await database.transact(1, texts), ['kept']);
  },
);

test.serial('an idle connection that is lost is noticed by nobody', async (t) => {
  const { database, line } = await databaseOverLine(t);
  await database.transact(1, (db) => addNote(db, 'before'));

  await line.cut();
  await line.restore();
  await database.transact(1, (db) => addNote(db, 'after'));

  t.deepEqual(await database.transact(1, texts), ['before', 'after']);
});

test.serial('while the server is away all is unavailable, and when it is back all works', async (t) => {
  const { database, line } = await databaseOverLine(t);
  await database.transact(1, (db) => addNote(db, 'before'));
  await line.cut();

  t.like(await t.throwsAsync(database.transact(1, texts)), { kind: 'unavailable' });
  t.like(await t.throwsAsync(database.ping()), { kind: 'unavailable' });

  await line.restore();
  t.deepEqual(await database.transact(1, texts), ['before']);
});

test.serial('a server that falls silent costs its statements the timeout, and no connection', async (t) => {
  const { database, line } = await databaseOverLine(t);

  for (const attempt of ['first', 'second']) {
    const error = await t.throwsAsync(
      database.transact(1, async (db) => {
        await addNote(db, attempt);
        line.hold();
        await addNote(db, attempt);
      }),
    );
    t.like(error, { kind: 'unavailable' });
  }

  await database.transact(1, (db) => addNote(db, 'kept'));
  t.deepEqual(await database.transact(1, texts), ['kept']);
});

test.serial('whoever waits too long for a free connection is told that the database is unavailable', async (t) => {
  const { schemaName } = await testSchema(t, notesSchema);
  const url = await testDatabaseUrl();
  const narrow = openDatabase({ url, schema: notesSchema, schemaName, poolSize: 1, acquireTimeoutMs: 100 });
  t.teardown(() => narrow.close());

  await narrow.transact(1, async () => {
    t.like(await t.throwsAsync(narrow.transact(1, texts)), { kind: 'unavailable' });
  });
});
