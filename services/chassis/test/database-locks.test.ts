import test from 'ava';
import { pino } from 'pino';
import { migrateSchema } from '../src/database/migrate.ts';
import { openDatabase } from '../src/database/open.ts';
import type { Migration, SchemaDeclaration } from '../src/database/types.ts';
import { eventually } from '../src/testing/eventually.ts';
import { createGate } from '../src/testing/gate.ts';
import { testDatabaseUrl } from '../src/testing/test-database.ts';
import { testSchema } from '../src/testing/test-schema.ts';
import { notesSchema } from './support/notes-schema.ts';

// The embedded engine runs one transaction at a time: nobody holds there what another wants.
const onServer = process.env['TEST_DATABASE_URL'] ? test : () => undefined;

test('a statement that the server refuses for a lock is unavailable, and its transaction leaves nothing', async (t) => {
  const database = await testSchema(t, notesSchema);
  const refused = database.transact(1, async ({ knex }) => {
    await knex('notes').insert({ tenant_id: 1, text: 'never' });
    await knex.raw(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '55P03'; END $$`);
  });
  t.like(await t.throwsAsync(refused), { kind: 'unavailable' });
  t.deepEqual(await database.transact(1, ({ knex }) => knex('notes')), []);
});

const stars: Migration = {
  name: '999-stars',
  async up(knex) {
    await knex.raw('ALTER TABLE notes ADD COLUMN stars integer');
  },
};
const extended: SchemaDeclaration = { ...notesSchema, migrations: [...notesSchema.migrations, stars] };

onServer(
  'who waits too long for a row that another holds is told that it is unavailable, and may come again',
  async (t) => {
    const database = await testSchema(t, notesSchema);
    const { schemaName } = database;
    const hasty = openDatabase({
      url: await testDatabaseUrl(),
      schema: notesSchema,
      schemaName,
      poolSize: 1,
      lockTimeoutMs: 100,
    });
    t.teardown(() => hasty.close());
    await database.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'held' }));
    const [held, gate] = [createGate(), createGate()];
    const holder = database.transact(1, async ({ knex }) => {
      await knex('notes').update({ text: 'changed' });
      held.open();
      await gate.pass();
    });
    await held.pass();
    const change = () => hasty.transact(1, ({ knex }) => knex('notes').update({ text: 'later' }));
    t.like(await t.throwsAsync(change()), { kind: 'unavailable' });
    gate.open();
    await holder;
    t.is(await change(), 1);
  },
);

onServer(
  'a migration does not hold up readers behind a table that is in use: it gives way until it is free',
  async (t) => {
    const database = await testSchema(t, notesSchema);
    const { schemaName } = database;
    const url = await testDatabaseUrl();
    const [held, gate] = [createGate(), createGate()];
    const holder = database.transact(1, async ({ knex }) => {
      await knex('notes');
      held.open();
      await gate.pass();
    });
    await held.pass();
    const said: string[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => void said.push(line) });
    const migrating = migrateSchema({
      url,
      appUrl: url,
      schema: extended,
      schemaName,
      lockTimeoutMs: 50,
      log,
    });
    await eventually('it gives way', () => said.some((line) => line.includes('give way')));
    t.deepEqual(await database.transact(2, ({ knex }) => knex('notes')), []);
    gate.open();
    await holder;
    t.deepEqual(await migrating, ['999-stars']);
  },
);
