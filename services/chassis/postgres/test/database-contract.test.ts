import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { onEveryDatabase } from '@parley/testing/every-database';
import type { ExecutionContext } from 'ava';
import knexFactory, { type Knex } from 'knex';
import { openDatabase } from '../src/database/open.ts';

onEveryDatabase(({ test, testDatabaseUrl }) => {
  /**
   * Tests of the PostgreSQL features that services rely on. They run against the embedded database, or against the server that
   * TEST_DATABASE_URL names.
   */

  test('transactions and single statements of many writers on four pools are isolated', async (t) => {
    const schema = await schemaOf(t);
    const admin = await poolOf(t);
    await admin.raw(`CREATE TABLE ${schema}.entries (pool integer, writer integer, round integer)`);
    const pools = await Promise.all(Array.from({ length: 4 }, () => poolOf(t)));

    const work = pools.flatMap((pool, p) =>
      Array.from({ length: 6 }, async (_, writer) => {
        for (let round = 0; round < 15; round += 1) {
          const value = p * 10_000 + writer * 100 + round;
          if (writer % 2 === 0) {
            await pool.transaction(async (transaction) => {
              await transaction.raw(`SET LOCAL search_path TO ${schema}`);
              await transaction.raw('INSERT INTO entries VALUES (?, ?, ?)', [p, writer, round]);
              const { rows } = await transaction.raw('SELECT ?::integer AS value, current_schema() AS schema', [value]);
              t.deepEqual(rows, [{ value, schema }]);
            });
          } else {
            await pool.raw(`INSERT INTO ${schema}.entries VALUES (?, ?, ?)`, [p, writer, round]);
            const { rows } = await pool.raw('SELECT ?::integer AS value, ?::text AS word', [value, `w${value}`]);
            t.deepEqual(rows, [{ value, word: `w${value}` }]);
          }
          if (round % 5 === 0) await t.throwsAsync(Promise.resolve(pool.raw('SELECT 1 / ?::integer', [0])));
        }
      }),
    );
    await Promise.all(work);

    const { rows } = await admin.raw(`SELECT count(*)::integer AS all, count(DISTINCT (pool, writer, round))::integer AS
    different FROM ${schema}.entries`);
    t.deepEqual(rows, [{ all: 360, different: 360 }]);
  });

  test('the role and tenant of one transaction do not leak into another', async (t) => {
    const schema = await schemaOf(t);
    const role = `${schema}_tenant`;
    const admin = await poolOf(t);
    await admin.raw(`
    CREATE ROLE ${role} NOLOGIN;
    GRANT ${role} TO CURRENT_USER;
    CREATE TABLE ${schema}.things (tenant_id integer NOT NULL, word text);
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT, INSERT ON ${schema}.things TO ${role};
    ALTER TABLE ${schema}.things ENABLE ROW LEVEL SECURITY;
    ALTER TABLE ${schema}.things FORCE ROW LEVEL SECURITY;
    CREATE POLICY tenant ON ${schema}.things USING (tenant_id = current_setting('parley.tenant')::integer)`);
    t.teardown(async () => {
      const pool = knexFactory({ client: 'pg', connection: await testDatabaseUrl() });
      await pool.raw(`DROP OWNED BY ${role}`);
      await pool.raw(`DROP ROLE ${role}`);
      await pool.destroy();
    });
    const [{ login }] = (await admin.raw('SELECT current_user AS login')).rows;
    const pools = await Promise.all(Array.from({ length: 4 }, () => poolOf(t)));

    await Promise.all(
      pools.flatMap((pool, p) =>
        Array.from({ length: 3 }, async () => {
          const tenantId = p + 1;
          for (let round = 0; round < 10; round += 1) {
            await pool.transaction(async (transaction) => {
              await transaction.raw(`SET LOCAL ROLE ${role}; SET LOCAL search_path TO ${schema}`);
              await transaction.raw(`SELECT set_config('parley.tenant', ?, true)`, [String(tenantId)]);
              await transaction.raw('INSERT INTO things VALUES (?, ?)', [tenantId, `round ${round}`]);
              const { rows } = await transaction.raw('SELECT DISTINCT tenant_id FROM things');
              t.deepEqual(rows, [{ tenant_id: tenantId }]);
              await t.throwsAsync(
                transaction.transaction((inner) =>
                  inner.raw('INSERT INTO things VALUES (?, ?)', [tenantId + 1, 'theirs']),
                ),
                { message: /row-level security/ },
              );
            });
            const { rows } = await pool.raw(
              `SELECT current_user AS login, coalesce(current_setting('parley.tenant', true), '') AS tenant, ?::text AS word`,
              ['x'],
            );
            t.deepEqual(rows, [{ login, tenant: '', word: 'x' }]);
          }
        }),
      ),
    );
  });

  test('four services migrate at once, each into its own schema', async (t) => {
    const url = await testDatabaseUrl();
    const databases = Array.from({ length: 4 }, (_, index) => {
      const name = uniqueName();
      const database = openDatabase({
        url,
        poolSize: 2,
        schema: {
          name,
          tables: { [`only_${index}`]: 'tenant' },
          migrations: [
            {
              name: '001-table',
              up: async (knex) => {
                await knex.raw(`CREATE TABLE only_${index} (
                tenant_id integer NOT NULL, id integer GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (tenant_id, id))`);
              },
            },
          ],
        },
      });
      dropAfterwards(t, name, [`${name}_tenant`, `${name}_shared`]);
      t.teardown(() => database.close());
      return { name, database, table: `only_${index}` };
    });
    // Each schema is migrated twice at once: a second replica that starts at the same time finds nothing to do.
    await Promise.all([...databases, ...databases].map(({ database }) => database.migrate()));

    const admin = await poolOf(t);
    for (const { name, table } of databases) {
      const { rows } = await admin.raw(
        `SELECT table_schema FROM information_schema.tables WHERE table_name = ?
      AND table_schema = ANY (?)`,
        [table, databases.map((each) => each.name)],
      );
      t.deepEqual(rows, [{ table_schema: name }]);
    }
  });

  test('the transaction of a dead client is rolled back, and no other waits for it', async (t) => {
    const schema = await schemaOf(t);
    const pool = await poolOf(t);
    await pool.raw(`CREATE TABLE ${schema}.halves (id integer PRIMARY KEY)`);
    const dying = await (await poolOf(t)).transaction();
    await dying.raw(`INSERT INTO ${schema}.halves VALUES (?)`, [1]);
    // The first of these transactions inserts the same key as `dying`: on a server with concurrent transactions it also waits until `dying`
    // has ended.
    const others = Array.from({ length: 3 }, (_, id) =>
      pool.transaction((transaction) => transaction.raw(`INSERT INTO ${schema}.halves VALUES (?)`, [id + 1])),
    );
    (await connectionOf(dying)).destroy();
    await Promise.all(others);
    await t.throwsAsync(Promise.resolve(dying.raw('SELECT 1')));
    await dying.rollback();

    t.deepEqual((await pool.raw(`SELECT id FROM ${schema}.halves ORDER BY id`)).rows, [
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ]);
  });

  test('a client that disconnects during a statement disturbs no other', async (t) => {
    const pool = await poolOf(t);
    const busy = Promise.all(
      Array.from({ length: 4 }, () =>
        pool.transaction(
          async (transaction) => (await transaction.raw('SELECT pg_sleep(?), 1 AS one', [0.05])).rows[0].one,
        ),
      ),
    );
    const leaving = Array.from({ length: 5 }, async () => {
      const transaction = await (await poolOf(t)).transaction();
      const statement = Promise.resolve(transaction.raw('SELECT pg_sleep(?)', [0.05]));
      (await connectionOf(transaction)).destroy();
      await t.throwsAsync(statement);
      await transaction.rollback();
    });
    await Promise.all(leaving);
    t.deepEqual(await busy, [1, 1, 1, 1]);
    t.deepEqual((await pool.raw('SELECT ?::integer AS two', [2])).rows, [{ two: 2 }]);
  });

  test('the pool works after a statement that timed out and was cancelled', async (t) => {
    const pool = await poolOf(t);
    await t.throwsAsync(Promise.resolve(pool.raw('SELECT pg_sleep(?)', [0.5]).timeout(50, { cancel: true })), {
      message: /timeout|cancel/i,
    });
    t.deepEqual((await pool.raw('SELECT ?::integer AS two', [2])).rows, [{ two: 2 }]);
    const values = await Promise.all(
      Array.from(
        { length: 8 },
        async (_, index) => (await pool.raw('SELECT ?::integer AS value', [index])).rows[0].value,
      ),
    );
    t.deepEqual(values, [0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('an error aborts a transaction unless it has a savepoint, and errors have SQLSTATEs', async (t) => {
    const schema = await schemaOf(t);
    const pool = await poolOf(t);
    await pool.raw(`CREATE TABLE ${schema}.unique_words (word text UNIQUE)`);
    const insert = (knex: Knex, word: string) => knex.raw(`INSERT INTO ${schema}.unique_words VALUES (?)`, [word]);
    await pool.transaction(async (transaction) => {
      await insert(transaction, 'a');
      await t.throwsAsync(
        transaction.transaction((inner) => insert(inner, 'a')),
        { code: '23505' },
      );
      await insert(transaction, 'b');
    });
    await t.throwsAsync(
      pool.transaction(async (transaction) => {
        await insert(transaction, 'c');
        await insert(transaction, 'a');
      }),
      { code: '23505' },
    );
    t.deepEqual((await pool.raw(`SELECT word FROM ${schema}.unique_words ORDER BY word`)).rows, [
      { word: 'a' },
      { word: 'b' },
    ]);
  });

  test('two workers with SKIP LOCKED never get the same row', async (t) => {
    const schema = await schemaOf(t);
    const pool = await poolOf(t);
    await pool.raw(`CREATE TABLE ${schema}.tasks AS SELECT id, false AS done FROM generate_series(1, 40) AS id`);
    const taken: number[] = [];
    async function worker(): Promise<void> {
      for (;;) {
        const id = await pool.transaction(async (transaction) => {
          const { rows } = await transaction.raw(`SELECT id FROM ${schema}.tasks WHERE NOT done ORDER BY id LIMIT 1
          FOR UPDATE SKIP LOCKED`);
          if (rows.length > 0)
            await transaction.raw(`UPDATE ${schema}.tasks SET done = true WHERE id = ?`, [rows[0].id]);
          return rows[0]?.id;
        });
        if (id === undefined) return;
        taken.push(id);
      }
    }
    await Promise.all([worker(), worker(), worker(), worker()]);
    t.is(new Set(taken).size, taken.length);
  });

  test('large values are stored and read unchanged', async (t) => {
    const pool = await poolOf(t);
    const large = randomUUID().repeat(100_000);
    const { rows } = await pool.raw('SELECT ?::text AS value', [large]);
    t.true(rows[0].value === large);
  });

  test('vectors are stored, indexed and searched', async (t) => {
    const schema = await schemaOf(t);
    const pool = await poolOf(t);
    await pool.raw('CREATE EXTENSION IF NOT EXISTS vector');
    await pool.transaction(async (transaction) => {
      await transaction.raw(`SET LOCAL search_path TO ${schema}, public`);
      await transaction.raw('CREATE TABLE points (id integer, place vector(3))');
      await transaction.raw('CREATE INDEX ON points USING hnsw (place vector_cosine_ops)');
      await transaction.raw('INSERT INTO points VALUES (1, ?), (2, ?)', ['[1,0,0]', '[0,1,0]']);
      const { rows } = await transaction.raw('SELECT id FROM points ORDER BY place <=> ? LIMIT 1', ['[0.1,0.9,0]']);
      t.deepEqual(rows, [{ id: 2 }]);
    });
  });

  async function poolOf(t: ExecutionContext): Promise<Knex> {
    const pool = knexFactory({ client: 'pg', connection: await testDatabaseUrl(), pool: { min: 0, max: 4 } });
    t.teardown(() => pool.destroy());
    return pool;
  }

  /** Makes a schema for one test; the teardown drops it. */
  async function schemaOf(t: ExecutionContext): Promise<string> {
    const name = uniqueName();
    dropAfterwards(t, name, []);
    const pool = await poolOf(t);
    await pool.raw(`CREATE SCHEMA ${name}`);
    return name;
  }

  function dropAfterwards(t: ExecutionContext, schema: string, roles: string[]): void {
    t.teardown(async () => {
      const pool = knexFactory({ client: 'pg', connection: await testDatabaseUrl() });
      await pool.raw(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      for (const role of roles) await pool.raw(`DROP ROLE IF EXISTS ${role}`);
      await pool.destroy();
    });
  }

  function uniqueName(): string {
    return `test_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  }

  /** Returns the socket under a transaction. */
  async function connectionOf(transaction: Knex.Transaction): Promise<Duplex> {
    const raw: { connection: { stream: Duplex } } = await transaction.client.acquireConnection();
    return raw.connection.stream;
  }
});
