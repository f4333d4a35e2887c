import { randomBytes } from 'node:crypto';
import { onOneDatabase } from '@parley/testing/every-database';
import { notesSchema } from '@parley/testing/notes-schema';
import type { ExecutionContext } from 'ava';
import { catalogueViolations } from '../src/database/catalogue.ts';
import { openDatabase } from '../src/database/open.ts';
import type { Migration, SchemaDeclaration } from '../src/database/types.ts';
import { openPool } from '../src/driver/pool.ts';

onOneDatabase(({ replicaOf, test, testDatabaseUrl, testSchema }) => {
  const sql = (name: string, statements: string): Migration => ({
    name,
    async up(knex) {
      await knex.raw(statements);
    },
  });

  const withMore = (schema: SchemaDeclaration, ...migrations: Migration[]): SchemaDeclaration => ({
    ...schema,
    migrations: [...schema.migrations, ...migrations],
  });

  /** Runs statements as the database's owner, in the given schema. */
  async function asOwner(schemaName: string, statements: string): Promise<void> {
    const pool = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 20_000 });
    try {
      await pool.transaction(async (transaction) => {
        await transaction.raw(`SET LOCAL search_path TO ${schemaName}`);
        await transaction.raw(statements);
      });
    } finally {
      await pool.destroy();
    }
  }

  test('eight processes can migrate one schema concurrently', async (t) => {
    const database = await testSchema(t, notesSchema, { migrate: false });
    const replicas = await Promise.all(Array.from({ length: 7 }, () => replicaOf(t, database, notesSchema)));

    await Promise.all([database, ...replicas].map((replica) => replica.migrate()));

    await database.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'once' }));
    t.is(await database.transact(1, async ({ knex }) => (await knex('notes')).length), 1);
  });

  test('the schemas of four services can be migrated concurrently', async (t) => {
    const services = await Promise.all(
      ['identity', 'agent', 'session', 'evaluation'].map(async (name) => {
        const schema = { ...notesSchema, name };
        return { schema, database: await testSchema(t, schema, { migrate: false }) };
      }),
    );

    await Promise.all(services.map(({ database }) => database.migrate()));

    const url = await testDatabaseUrl();
    for (const { schema, database } of services) {
      t.deepEqual(await catalogueViolations({ url, schema, schemaName: database.schemaName }), []);
    }
  });

  test('a migration has memory to build indexes with', async (t) => {
    const database = await testSchema(t, notesSchema, { migrate: false });
    const memory = withMore(
      notesSchema,
      sql('002-memory', `SELECT 1 / (pg_size_bytes(current_setting('maintenance_work_mem')) >= 256 * 2 ^ 20)::int`),
    );
    await t.notThrowsAsync((await replicaOf(t, database, memory)).migrate());
  });

  test('only new migrations are applied', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'kept' }));
    await database.migrate();

    const later = withMore(
      notesSchema,
      sql('002-title', `ALTER TABLE notes ADD COLUMN title text NOT NULL DEFAULT 'none'`),
    );
    await (await replicaOf(t, database, later)).migrate();

    const [note] = await database.transact(1, ({ knex }) => knex('notes').select('text', 'title'));
    t.deepEqual(note, { text: 'kept', title: 'none' });
  });

  test('a failed migration changes nothing', async (t) => {
    const database = await testSchema(t, notesSchema);
    const broken = withMore(
      notesSchema,
      sql('002-title', 'ALTER TABLE notes ADD COLUMN title text'),
      sql('003-broken', 'SELECT 1 / 0'),
    );

    await t.throwsAsync((await replicaOf(t, database, broken)).migrate(), { message: /division by zero/ });

    await t.throwsAsync(
      database.transact(1, ({ knex }) => knex('notes').select('title')),
      { message: /column "title" does not exist/ },
    );
  });

  test('an undeclared table fails the migration by name', async (t) => {
    const database = await testSchema(t, notesSchema);
    const more = withMore(notesSchema, sql('002-strays', 'CREATE TABLE strays (id integer)'));

    await t.throwsAsync((await replicaOf(t, database, more)).migrate(), {
      message: `no kind is declared for ${database.schemaName}.strays: name it in \`tables\` of the schema`,
    });
  });

  test('a declared table that no migration creates fails the migration by name', async (t) => {
    const database = await testSchema(
      t,
      { ...notesSchema, tables: { ...notesSchema.tables, ghosts: 'tenant' } },
      { migrate: false },
    );

    await t.throwsAsync(database.migrate(), { message: /declared, but not created by any migration: \w+\.ghosts/ });
  });

  test('a tenant table without tenant_id fails the migration', async (t) => {
    const declared: SchemaDeclaration = {
      name: 'walls',
      tables: { open: 'tenant' },
      migrations: [sql('001-open', 'CREATE TABLE open (id integer, tenant_id integer)')],
    };
    const database = await testSchema(t, declared, { migrate: false });

    await t.throwsAsync(database.migrate(), { message: /without "tenant_id integer not null"/ });
  });

  test('row-level security is forced again after a migration that has lifted it to rewrite rows', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'lower' }));
    const rewriting = withMore(
      notesSchema,
      sql('002-upper', 'ALTER TABLE notes NO FORCE ROW LEVEL SECURITY; UPDATE notes SET text = upper(text)'),
    );

    await (await replicaOf(t, database, rewriting)).migrate();

    t.deepEqual(await database.transact(1, ({ knex }) => knex('notes').pluck('text')), ['LOWER']);
    const { schemaName } = database;
    t.deepEqual(await catalogueViolations({ url: await testDatabaseUrl(), schema: notesSchema, schemaName }), []);
  });

  test('a partitioned tenant table isolates tenants, and its partitions are reached through it alone', async (t) => {
    const partitioned: SchemaDeclaration = {
      name: 'parts',
      tables: { marks: 'tenant' },
      migrations: [
        sql(
          '001-marks',
          `CREATE TABLE marks (tenant_id integer NOT NULL, text text) PARTITION BY HASH (tenant_id);
           CREATE TABLE marks_p0 PARTITION OF marks FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
        ),
      ],
    };
    const database = await testSchema(t, partitioned);
    const check = async () =>
      catalogueViolations({ url: await testDatabaseUrl(), schema: partitioned, schemaName: database.schemaName });

    await database.transact(1, ({ knex }) => knex('marks').insert({ tenant_id: 1, text: 'mine' }));
    t.deepEqual(await database.transact(1, ({ knex }) => knex('marks').pluck('text')), ['mine']);
    t.deepEqual(await database.transact(2, ({ knex }) => knex('marks').pluck('text')), []);
    await t.throwsAsync(
      database.transact(2, ({ knex }) => knex('marks').insert({ tenant_id: 1 })),
      { message: /row-level security/ },
    );
    await t.throwsAsync(
      database.transact(1, ({ knex }) => knex('marks_p0').pluck('text')),
      { message: /permission denied/ },
    );
    t.deepEqual(await check(), []);
    await asOwner(database.schemaName, `GRANT SELECT ON marks_p0 TO ${database.schemaName}_tenant`);
    t.regex((await check()).join('\n'), /^\w+_tenant has rights on marks_p0$/);
  });

  test('an index serves comparisons with parley_now()', async (t) => {
    const indexed = withMore(
      notesSchema,
      sql('002-index', 'CREATE INDEX notes_written_at ON notes (tenant_id, written_at)'),
    );
    const database = await testSchema(t, indexed);

    const plan = await database.transactShared(async (db) => {
      await db.knex.raw('SET LOCAL enable_seqscan TO off');
      return db.asTenant(1, async ({ knex }) => {
        const { rows } = await knex.raw('EXPLAIN SELECT FROM notes WHERE written_at < parley_now()');
        return JSON.stringify(rows);
      });
    });

    t.regex(plan, /Index Cond: .*written_at < parley_now\(\)/);
  });

  /** Creates a login without rights, dropped after the test. Returns the URL of the test's database with that login. */
  async function testLogin(t: ExecutionContext, powers = ''): Promise<string> {
    const login = `test_login_${randomBytes(6).toString('hex')}`;
    await asOwner('public', `CREATE ROLE ${login} LOGIN PASSWORD 'pass' NOSUPERUSER ${powers}`);
    t.teardown(() => asOwner('public', `DROP OWNED BY ${login}; DROP ROLE ${login}`));
    const url = new URL(await testDatabaseUrl());
    url.username = login;
    url.password = 'pass';
    return url.href;
  }

  test('a service can run with a login that owns nothing', async (t) => {
    const url = await testLogin(t);
    const { schemaName } = await testSchema(t, notesSchema, { migrate: false });
    const migrationsUrl = await testDatabaseUrl();
    const served = openDatabase({ url, migrationsUrl, schema: notesSchema, schemaName, poolSize: 1 });
    t.teardown(() => served.close());

    await served.migrate();
    await served.migrate();

    await served.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'mine' }));
    await t.throwsAsync(
      served.transact(1, ({ knex }) => knex.raw('CREATE TABLE more (id integer)')),
      { message: /permission denied for schema/ },
    );
  });

  test('an owner without superuser rights can migrate, rewrite rows and run the service', async (t) => {
    const url = await testLogin(t, 'CREATEROLE');
    const database = await testSchema(t, notesSchema, { migrate: false });
    const login = new URL(url).username;
    await asOwner(
      'public',
      `DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO ${login}', current_database()); END $$`,
    );
    const owned = await replicaOf(t, database, notesSchema, { url });
    await owned.migrate();
    await owned.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'lower' }));
    const rewriting = withMore(
      notesSchema,
      sql('002-upper', 'ALTER TABLE notes NO FORCE ROW LEVEL SECURITY; UPDATE notes SET text = upper(text)'),
    );

    await (await replicaOf(t, database, rewriting, { url })).migrate();

    t.deepEqual(await owned.transact(1, ({ knex }) => knex('notes').pluck('text')), ['LOWER']);
    t.deepEqual(await catalogueViolations({ url, schema: notesSchema, schemaName: database.schemaName }), []);
  });

  test('a schema name with other characters is refused', (t) => {
    for (const name of ['', 'Upper', 'a"b', 'a;b', '1a', 'a'.repeat(56)]) {
      t.throws(() => openDatabase({ url: 'postgres://x', schema: { ...notesSchema, name }, poolSize: 1 }), {
        instanceOf: TypeError,
      });
    }
  });

  // Each statement causes a violation that earlier statements have not caused.
  const violations: [what: string, statements: (schemaName: string) => string, found: RegExp][] = [
    ['a table of no kind', () => 'CREATE TABLE strays (id integer)', /^strays is of no declared kind$/],
    ['a view', () => 'CREATE VIEW glimpses AS SELECT * FROM notes', /^glimpses is of no declared kind$/],
    [
      'row-level security that is not forced',
      () => 'ALTER TABLE notes NO FORCE ROW LEVEL SECURITY',
      /^notes .* not forced$/,
    ],
    ['row-level security that is off', () => 'ALTER TABLE lines DISABLE ROW LEVEL SECURITY', /^lines .* not forced$/],
    [
      'a tenant table without tenant_id',
      () => 'ALTER TABLE notes ALTER tenant_id DROP NOT NULL',
      /^notes is a tenant table without "ten/,
    ],
    [
      'a tenant table without a policy',
      () => 'DROP POLICY own_tenant ON notes',
      /^notes is a tenant table without a policy$/,
    ],
    [
      'a policy with another condition',
      () => 'CREATE POLICY wide ON notes USING (true)',
      /^policy wide of notes says other/,
    ],
    [
      'a reference without tenant_id',
      () => 'ALTER TABLE lines ADD CONSTRAINT bare FOREIGN KEY (note_id) REFERENCES notes (id)',
      /^foreign key bare from lines to notes lacks tenant_id$/,
    ],
    ['a role that bypasses', (schema) => `ALTER ROLE ${schema}_shared BYPASSRLS`, /_shared may log in, or bypasses/],
    ['a role that may log in', (schema) => `ALTER ROLE ${schema}_tenant LOGIN`, /_tenant may log in, or bypasses/],
    [
      'a role that is in another',
      (schema) => `GRANT ${schema}_tenant TO ${schema}_shared`,
      /_shared is a member of another role$/,
    ],
    [
      'the shared role on a tenant table',
      (schema) => `GRANT SELECT ON notes TO ${schema}_shared`,
      /_shared has rights on notes$/,
    ],
    [
      'the tenant role on people',
      (schema) => `GRANT INSERT ON people TO ${schema}_tenant`,
      /_tenant has rights on people$/,
    ],
    ['everybody on a table', () => 'GRANT SELECT ON people TO PUBLIC', /^everybody has rights on people$/],
    [
      "a function with its owner's rights",
      () =>
        'CREATE FUNCTION count_notes() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT count(*) FROM notes $$',
      /^function count_notes runs with its owner's rights$/,
    ],
    [
      'a role that owns a table',
      (schema) => `GRANT CREATE ON SCHEMA ${schema} TO ${schema}_tenant; ALTER TABLE notes OWNER TO ${schema}_tenant`,
      /_tenant owns something$/,
    ],
    ['a declared table that is gone', () => 'DROP TABLE people', /^people is declared and does not exist$/],
  ];

  test('the catalogue check finds every violation', async (t) => {
    const { schemaName } = await testSchema(t, notesSchema);
    const check = async () => catalogueViolations({ url: await testDatabaseUrl(), schema: notesSchema, schemaName });
    t.deepEqual(await check(), []);

    for (const [what, statements, found] of violations) {
      const before = await check();
      t.false(
        before.some((violation) => found.test(violation)),
        `${what}: ${JSON.stringify(before)}`,
      );
      await asOwner(schemaName, statements(schemaName));
      const after = await check();
      t.true(
        after.some((violation) => found.test(violation)),
        `${what}: ${JSON.stringify(after)}`,
      );
    }
  });
});
