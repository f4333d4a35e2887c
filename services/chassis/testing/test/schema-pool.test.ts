import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import knexFactory from 'knex';
import { onDatabaseServer, onEveryDatabase } from '../src/every-database.ts';
import { notesSchema } from '../src/notes-schema.ts';
import { dropSchemaSql, maxSchemasInUse, schemaPool } from '../src/schema-pool.ts';

onEveryDatabase(({ test, testDatabaseUrl }) => {
  test("a test's schema is exclusive, and the next test gets it empty and as migrated", async (t) => {
    const url = await testDatabaseUrl();
    const owner = knexFactory({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
    t.teardown(() => owner.destroy());
    const declaration = { ...notesSchema, name: `pool_${randomBytes(6).toString('hex')}` };
    const pool = await schemaPool(url, declaration);
    const other = await pool.take();
    t.teardown(() => owner.raw(dropSchemaSql(other)));
    const name = await pool.take();
    t.teardown(() => owner.raw(dropSchemaSql(name)));
    t.not(name, other);
    const addNote = async () =>
      (await owner.raw(`INSERT INTO ${name}.notes (tenant_id, text) VALUES (1, 'a note') RETURNING id`)).rows;
    const tables = async () =>
      (
        await owner.raw('SELECT relname, relforcerowsecurity FROM pg_class WHERE relnamespace = ?::regnamespace', [
          name,
        ])
      ).rows.length;
    const made = await tables();

    for (const change of [
      'SELECT 1',
      `ALTER TABLE ${name}.notes NO FORCE ROW LEVEL SECURITY`,
      `CREATE TABLE ${name}.more (id integer)`,
      `INSERT INTO ${name}.migrations (name) VALUES ('002-rows')`,
      `ALTER ROLE ${name}_tenant LOGIN`,
      `DROP TABLE ${name}.migrations`,
    ]) {
      t.deepEqual(await addNote(), [{ id: 1 }], change);
      await owner.raw(change);
      await pool.release(name);
      t.is(await pool.take(), name);
      t.is(await tables(), made, change);
      const { rows } = await owner.raw(
        `SELECT relforcerowsecurity AS forced, rolcanlogin AS login,
                (SELECT count(*)::int FROM ${name}.migrations WHERE name = '002-rows') AS migrated
           FROM pg_class, pg_roles WHERE pg_class.oid = ?::regclass AND rolname = ?`,
        [`${name}.notes`, `${name}_tenant`],
      );
      t.deepEqual(rows, [{ forced: true, login: false, migrated: 0 }], change);
    }
  });
});

onDatabaseServer(({ test, testDatabaseUrl }) => {
  test('schemas stay in use after a statement on one of them has failed', async (t) => {
    const url = await testDatabaseUrl();
    const owner = knexFactory({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
    t.teardown(() => owner.destroy());
    const declaration = { ...notesSchema, name: `pool_${randomBytes(6).toString('hex')}` };
    const [pool, elsewhere] = [await schemaPool(url, declaration), await schemaPool(url, declaration)];
    const taken = [await pool.take(), await pool.take()];
    const [, broken = ''] = taken;
    await owner.raw(`DROP TABLE ${broken}.migrations`);
    await pool.release(broken);
    t.is(await pool.take(), broken, 'it is made again');
    taken.push(await elsewhere.take());
    for (const name of taken) t.teardown(() => owner.raw(dropSchemaSql(name)));
    t.is(new Set(taken).size, 3, `${taken.join(', ')}: another process got one that is in use`);
  });

  test('a test that holds a schema does not wait for a second one, and the next waiting test gets one when enough are free', async (t) => {
    const url = await testDatabaseUrl();
    const owner = knexFactory({ client: 'pg', connection: url, pool: { min: 0, max: 1 } });
    t.teardown(() => owner.destroy());
    const declaration = { ...notesSchema, name: `pool_${randomBytes(6).toString('hex')}` };
    const pool = await schemaPool(url, declaration);
    const taken: string[] = [];
    for (let n = 0; n < maxSchemasInUse; n += 1) taken.push(await pool.take());
    const second = await pool.take({ atOnce: true });
    for (const name of [...taken, second]) t.teardown(() => owner.raw(dropSchemaSql(name)));
    let isWaiting = true;
    const next = pool.take().finally(() => {
      isWaiting = false;
    });
    await pool.release(second);
    t.true(isWaiting);
    await pool.release(taken[0] ?? '');
    t.true([second, taken[0]].includes(await next));
  });

  test('two schemas can be emptied at the same time', async (t) => {
    const url = await testDatabaseUrl();
    const owner = knexFactory({ client: 'pg', connection: url, pool: { min: 0, max: 2 } });
    t.teardown(() => owner.destroy());
    const declaration = { ...notesSchema, name: `pool_${randomBytes(6).toString('hex')}` };
    const pool = await schemaPool(url, declaration);
    const [name, other] = [await pool.take(), await pool.take()];
    t.teardown(() => owner.raw(dropSchemaSql(name)));
    t.teardown(() => owner.raw(dropSchemaSql(other)));
    await owner.transaction(async (transaction) => {
      await transaction.raw(`TRUNCATE ${other}.notes RESTART IDENTITY CASCADE`);
      await pool.release(name);
      const taken = await Promise.race([pool.take(), delay(10_000, 'it waits', { ref: false })]);
      t.is(taken, name);
    });
  });
});
