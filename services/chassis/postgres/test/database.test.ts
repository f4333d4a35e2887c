import { setImmediate as immediate } from 'node:timers/promises';
import { isDatabaseError, isForeignKeyViolation, isUniqueViolation } from '@parley/kernel/database-errors';
import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { onEveryDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { openDatabase } from '../src/database/open.ts';
import type { TenantDb, TransactOptions } from '../src/database/types.ts';
import type { Opening } from '../src/driver/opening-client.ts';
import { openPool } from '../src/driver/pool.ts';
import { statementGroup } from '../src/driver/statement-group.ts';

onEveryDatabase(({ test, testDatabaseUrl, testSchema }) => {
  const addNote = async ({ knex, tenantId }: TenantDb, text: string): Promise<number> => {
    const [note] = await knex('notes').insert({ tenant_id: tenantId, text }).returning('id');
    return note.id;
  };
  const countNotes = async ({ knex }: TenantDb): Promise<number> => (await knex('notes')).length;
  const texts = ({ knex }: TenantDb): Promise<string[]> => knex('notes').orderBy('id').pluck('text');

  // Runs before the other tests, which keep an embedded database busy for longer than a ping waits.
  test.serial('ping resolves while the database answers', async (t) => {
    const database = await testSchema(t, notesSchema, { migrate: false });

    await t.notThrowsAsync(database.ping());
  });

  test('prepared statements see the columns that a migration adds, and each tenant its own rows', async (t) => {
    const database = await testSchema(t, notesSchema);
    const owner = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
    t.teardown(() => owner.destroy());
    const read = (tenantId: number) =>
      database.transact(tenantId, ({ knex }) => knex('notes').select('*').where('id', '>', 0));
    const prepared = () =>
      database.transact(1, async ({ knex }) => {
        const { rows } = await knex.raw<{ rows: { statement: string }[] }>(
          'SELECT statement FROM pg_prepared_statements WHERE strpos(statement, ?) = 1',
          ['select * from "notes"'],
        );
        return rows.length;
      });
    for (const tenantId of [1, 2]) await database.transact(tenantId, (db) => addNote(db, `of ${tenantId}`));
    for (let n = 0; n < 5; n += 1) await Promise.all([1, 2].map(read));
    t.true((await prepared()) > 0);
    for (const tenantId of [1, 2]) t.like(await read(tenantId), { length: 1, 0: { text: `of ${tenantId}` } });

    await owner.raw(`ALTER TABLE ${database.schemaName}.notes ADD COLUMN stars integer DEFAULT 5`);
    for (let n = 0; n < 8; n += 1) {
      for (const tenantId of [1, 2])
        t.like(await read(tenantId), { length: 1, 0: { text: `of ${tenantId}`, stars: 5 } });
    }
  });

  test('one connection runs the same prepared statement under each role and policy with its own rights', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const owner = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
    t.teardown(() => owner.destroy());
    const table = `${database.schemaName}.notes`;
    const read = ({ knex }: Pick<TenantDb, 'knex'>): Promise<string[]> =>
      knex('notes').where('id', '>', 0).pluck('text');
    for (const tenantId of [1, 2]) await database.transact(tenantId, (db) => addNote(db, `of ${tenantId}`));
    for (let n = 0; n < 8; n += 1) {
      for (const tenantId of [1, 2]) t.deepEqual(await database.transact(tenantId, read), [`of ${tenantId}`]);
      await t.throwsAsync(database.transactShared(read));
      t.deepEqual(await database.transactShared((db) => db.asTenant(2, read)), ['of 2']);
    }
    await owner.raw(`CREATE POLICY none ON ${table} AS RESTRICTIVE USING (tenant_id <> 2)`);
    t.deepEqual([await database.transact(1, read), await database.transact(2, read)], [['of 1'], []]);
    await owner.raw(`DROP POLICY none ON ${table}`);
    t.deepEqual(await database.transact(2, read), ['of 2']);
  });

  test('a transaction runs again after a prepared statement no longer fits, even if its work replaces the error', async (t) => {
    const database = await testSchema(t, notesSchema);
    const owner = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
    t.teardown(() => owner.destroy());
    const read = ({ knex }: TenantDb) => knex('notes').select('*').where('id', '>', 0);
    for (const hides of [
      (error: unknown) => {
        throw unavailable('The notes are not available', error);
      },
      () => [],
    ]) {
      await database.transact(1, (db) => addNote(db, 'kept'));
      for (let n = 0; n < 8; n += 1) await Promise.all([1, 2].map((tenantId) => database.transact(tenantId, read)));
      await owner.raw(`ALTER TABLE ${database.schemaName}.notes ADD COLUMN IF NOT EXISTS stars integer DEFAULT 5`);
      let runs = 0;
      const notes = await database.transact(1, async (db) => {
        runs += 1;
        return read(db).catch(hides);
      });
      t.like(notes[0], { text: 'kept', stars: 5 });
      t.is(runs, 2);
      await owner.raw(`ALTER TABLE ${database.schemaName}.notes DROP COLUMN stars`);
      for (let n = 0; n < 8; n += 1) await Promise.all([1, 2].map((tenantId) => database.transact(tenantId, read)));
    }
  });

  test('prepared statements take values of the type that a migration gives a column', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const owner = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
    t.teardown(() => owner.destroy());
    const table = `${database.schemaName}.notes`;
    await owner.raw(`ALTER TABLE ${table} ADD COLUMN size integer, ADD COLUMN shape text`);
    await database.transact(1, (db) => addNote(db, 'kept'));
    const write = (size: number) =>
      database.transact(1, ({ knex }) => knex('notes').where('size', '<', size).orWhere('id', '>', 0).update({ size }));
    const shape = (json: string) =>
      database.transact(1, ({ knex }) => knex('notes').where('id', '>', 0).update({ shape: json }));
    for (let n = 1; n < 8; n += 1) t.deepEqual([await write(n), await shape(`${n}`)], [1, 1]);
    await owner.raw(`ALTER TABLE ${table} ALTER size TYPE bigint, ALTER shape TYPE jsonb USING shape::jsonb`);
    for (let n = 1; n < 8; n += 1) t.deepEqual([await write(3_000_000_000 + n), await shape('{"n": 1}')], [1, 1]);
  });

  test('after a value that cannot be sent, its statement does not count as prepared', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    let runs = 0;
    const echo = (value: unknown) =>
      database.transact(1, async ({ knex }) => {
        runs += 1;
        return (await knex.raw('SELECT ?::json AS value', [value as string])).rows;
      });
    for (let n = 0; n < 5; n += 1) t.deepEqual(await echo({ n }), [{ value: { n } }]);
    await t.throwsAsync(echo({ n: 6n }), { name: 'TypeError' });
    runs = 0;
    t.deepEqual(await echo({ n: 6 }), [{ value: { n: 6 } }]);
    t.is(runs, 1);
  });

  test("a tenant cannot read, change or delete another's rows, whatever the WHERE", async (t) => {
    const database = await testSchema(t, notesSchema);
    const id = await database.transact(1, (db) => addNote(db, 'mine'));

    await database.transact(2, async ({ knex }) => {
      t.deepEqual(await knex('notes').where({ tenant_id: 1 }), []);
      t.is(await knex('notes').where({ id }).update({ text: 'taken' }), 0);
      t.is(await knex('notes').whereRaw('true').delete(), 0);
      t.deepEqual((await knex.raw('SELECT count(*)::int AS count FROM notes')).rows, [{ count: 0 }]);
    });

    t.deepEqual(await database.transact(1, texts), ['mine']);
  });

  test('a tenant can neither insert a row of another tenant nor move one to it', async (t) => {
    const database = await testSchema(t, notesSchema);
    const refused = { message: /row-level security/ };

    await t.throwsAsync(
      database.transact(2, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: 'planted' })),
      refused,
    );
    await t.throwsAsync(
      database.transact(2, async (db) => {
        const id = await addNote(db, 'mine');
        await db.knex('notes').where({ id }).update({ tenant_id: 1 });
      }),
      refused,
    );

    t.deepEqual(await database.transact(1, texts), []);
    t.deepEqual(await database.transact(2, texts), []);
  });

  test("a row cannot refer to another tenant's row", async (t) => {
    const database = await testSchema(t, notesSchema);
    const noteId = await database.transact(1, (db) => addNote(db, 'mine'));

    const error = await t.throwsAsync(
      database.transact(2, ({ knex }) => knex('lines').insert({ tenant_id: 2, note_id: noteId })),
    );

    t.true(isForeignKeyViolation(error));
  });

  test('the shared role cannot read tenant tables, nor the tenant role those of people', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, (db) => addNote(db, 'mine'));

    t.true(isDatabaseError(await t.throwsAsync(database.transactShared(({ knex }) => knex('notes')))));
    await t.throwsAsync(
      database.transact(1, ({ knex }) => knex('people')),
      { message: /permission denied for table people/ },
    );
    await database.transactShared(({ knex }) => knex('people').insert({ email: 'a@example.com' }));
  });

  test('both roles can write internal tables', async (t) => {
    const database = await testSchema(t, notesSchema);
    const mark = { consumer: 'c', event_id: '1', tenant_id: 1 };

    await database.transact(1, ({ knex }) => knex('inbox').insert(mark));
    await database.transactShared(({ knex }) => knex('inbox').insert({ ...mark, event_id: '2' }));

    t.is(await database.transactShared(async ({ knex }) => (await knex('inbox')).length), 2);
  });

  test('a shared transaction writes people, and tenant rows in asTenant only', async (t) => {
    const database = await testSchema(t, notesSchema);

    await database.transactShared(async (db) => {
      await db.knex('people').insert({ email: 'a@example.com' });
      await db.asTenant(7, (tenant) => addNote(tenant, 'welcome'));
      await db.knex('people').insert({ email: 'b@example.com' });
    });

    t.deepEqual(await database.transact(7, texts), ['welcome']);
    const error = await t.throwsAsync(
      database.transactShared(async (db) => {
        await db.asTenant(7, (tenant) => addNote(tenant, 'second'));
        await db.knex('notes');
      }),
    );
    t.true(isDatabaseError(error));
  });

  test('people and tenant rows of one transaction are rolled back together', async (t) => {
    const database = await testSchema(t, notesSchema);

    await t.throwsAsync(
      database.transactShared(async (db) => {
        await db.knex('people').insert({ email: 'a@example.com' });
        await db.asTenant(7, (tenant) => addNote(tenant, 'welcome'));
        throw new Error('changed my mind');
      }),
      { message: 'changed my mind' },
    );

    t.deepEqual(await database.transact(7, texts), []);
    t.deepEqual(await database.transactShared(({ knex }) => knex('people').select()), []);
  });

  test('asTenant cannot be nested', async (t) => {
    const database = await testSchema(t, notesSchema);

    await t.throwsAsync(
      database.transactShared((db) => db.asTenant(1, () => db.asTenant(2, (tenant) => addNote(tenant, 'whose?')))),
      { message: /already under way/ },
    );
  });

  test('a shared transaction rejects with the error of asTenant', async (t) => {
    const database = await testSchema(t, notesSchema);

    const error = await t.throwsAsync(
      database.transactShared((db) => db.asTenant(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: null }))),
    );

    t.like(error, { code: '23502' });
  });

  test('a tenant id is a positive 32-bit integer, or that of no tenant', async (t) => {
    const database = await testSchema(t, notesSchema, { migrate: false });

    const sql: number = JSON.parse('"1; DROP TABLE notes"');
    for (const tenantId of [-1, 1.5, Number.NaN, 2 ** 31, sql]) {
      await t.throwsAsync(
        database.transact(tenantId, async () => t.fail()),
        { instanceOf: TypeError },
      );
    }
  });

  test('afterCommit effects run in order after the commit, and not after a rollback', async (t) => {
    const database = await testSchema(t, notesSchema);
    const seen: string[] = [];
    t.teardown(database.onWake('bell', () => seen.push('woken')));

    await database.transact(1, async (db) => {
      db.afterCommit(() => seen.push('effect'));
      db.wake('bell');
      db.wake('bell');
      await addNote(db, 'mine');
      await immediate();
      t.deepEqual(seen, []);
    });
    t.deepEqual(seen, ['effect', 'woken']);

    await t.throwsAsync(
      database.transact(1, async (db) => {
        db.afterCommit(() => seen.push('never'));
        db.wake('bell');
        await addNote(db, 'gone');
        throw new Error('no');
      }),
    );
    t.deepEqual(seen, ['effect', 'woken']);
    t.deepEqual(await database.transact(1, texts), ['mine']);
  });

  test('an afterCommit effect that throws neither undoes the commit nor prevents the others', async (t) => {
    const database = await testSchema(t, notesSchema);
    let ran = false;

    await database.transact(1, async (db) => {
      db.afterCommit(() => {
        throw new Error('no');
      });
      db.afterCommit(() => {
        ran = true;
      });
      await addNote(db, 'mine');
    });

    t.true(ran);
    t.deepEqual(await database.transact(1, texts), ['mine']);
  });

  test('a swallowed error of a statement fails the transaction instead of a silent rollback at COMMIT', async (t) => {
    const database = await testSchema(t, notesSchema);
    let woken = false;

    await t.throwsAsync(
      database.transact(1, async (db) => {
        await addNote(db, 'mine');
        db.afterCommit(() => {
          woken = true;
        });
        await db.knex('people').catch(() => undefined);
      }),
      { message: /nothing was committed/ },
    );

    t.false(woken);
    t.deepEqual(await database.transact(1, texts), []);
  });

  test('a failed statement in a savepoint does not fail the transaction', async (t) => {
    const database = await testSchema(t, notesSchema);

    await database.transactShared(async ({ knex }) => {
      await knex('people').insert({ email: 'a@example.com' });
      const error = await t.throwsAsync(
        knex.transaction((inner) => inner('people').insert({ email: 'a@example.com' })),
      );
      t.true(isUniqueViolation(error, 'people_email_key'));
      t.false(isUniqueViolation(error, 'another_key'));
    });

    t.is(await database.transactShared(async ({ knex }) => (await knex('people')).length), 1);
  });

  test('a transaction leaves no settings on its connection', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1, clockOffsetMs: () => 60_000 });
    await database.transact(1, (db) => addNote(db, 'mine'));

    const { role, tenant, path } = await database.transactShared(async ({ knex }) => {
      const settings = await knex.raw(
        `SELECT current_user AS role, current_setting('parley.tenant', true) AS tenant, current_setting('search_path') AS path`,
      );
      return settings.rows[0];
    });

    t.is(role, `${database.schemaName}_shared`);
    t.falsy(tenant);
    t.is(path, `${database.schemaName}, public`);
  });

  test("parley_now() is the database's clock plus the test's offset", async (t) => {
    let offsetMs = 0;
    const database = await testSchema(t, notesSchema, { clockOffsetMs: () => offsetMs });
    const skewMs = () =>
      database.transactShared(async ({ knex }) => {
        const { rows } = await knex.raw(`SELECT extract(epoch FROM parley_now() - clock_timestamp())::float8 AS skew`);
        return rows[0].skew * 1000;
      });

    t.true(Math.abs(await skewMs()) < 1_000);
    offsetMs = 15 * 86_400_000;
    t.true(Math.abs((await skewMs()) - offsetMs) < 1_000);
    offsetMs = -3_600_000;
    t.true(Math.abs((await skewMs()) - offsetMs) < 1_000);
  });

  test('the error of a failed statement does not contain its values', async (t) => {
    const database = await testSchema(t, notesSchema);
    const insert = () => database.transactShared(({ knex }) => knex('people').insert({ email: 'secret@example.com' }));
    await insert();

    const error = await t.throwsAsync(insert());

    t.false(JSON.stringify({ ...error, message: error.message, stack: error.stack }).includes('secret@example.com'));
  });

  test('concurrent transactions of several tenants on few connections are isolated', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 3 });

    await Promise.all(
      Array.from({ length: 60 }, (_, index) => database.transact((index % 4) + 1, (db) => addNote(db, `${index % 4}`))),
    );

    for (const tenantId of [1, 2, 3, 4]) {
      t.deepEqual(await database.transact(tenantId, texts), Array(15).fill(`${tenantId - 1}`));
    }
  });

  test('transactions that name the same row wait before they take a connection', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const gate = createGate();
    const order: string[] = [];
    const leaving = new AbortController();
    const shared = (name: string, how?: TransactOptions) =>
      database.transactShared(async () => {
        order.push(name);
        await gate.pass();
      }, how);
    const first = shared('first', { lockQueue: { user: 1, tenant: 1 } });
    await eventually('the first has begun', () => order.length === 1);
    const others = [
      shared('of its user', { lockQueue: { user: 1, tenant: 2 } }),
      shared('of its tenant', { lockQueue: { user: 2, tenant: 1 } }),
      database.transact(1, async () => void order.push('of a row'), { lockQueue: { row: 'note 1' } }),
      shared('of nobody'),
    ];
    const left = shared('left', { lockQueue: { user: 1 }, signal: leaving.signal });
    leaving.abort();
    const refused = Promise.all(
      [left, shared('away', { lockQueue: { tenant: 1 }, signal: leaving.signal })].map((each) => t.throwsAsync(each)),
    );
    gate.open();
    for (const error of await refused) t.like(error, { kind: 'unavailable', message: 'The caller has gone' });
    await Promise.all([first, ...others]);
    t.deepEqual(order, ['first', 'of a row', 'of nobody', 'of its user', 'of its tenant']);
  });

  test('after a failed transaction the next one of the same row begins', async (t) => {
    const database = await testSchema(t, notesSchema);
    const failing = database.transact(1, async () => Promise.reject(new Error('no')), { lockQueue: { row: 'note 1' } });
    const next = database.transact(1, countNotes, { lockQueue: { row: 'note 1' } });
    await t.throwsAsync(failing, { message: 'no' });
    t.is(await next, 0);
  });

  test('a database that cannot be reached or is closed is unavailable', async (t) => {
    const away = openDatabase({ url: 'postgres://app@127.0.0.1:1/none', schema: notesSchema, poolSize: 1 });
    await t.throwsAsync(away.ping(), { name: 'DomainError', message: 'The database is not available' });
    t.like(await t.throwsAsync(away.transact(1, texts)), { kind: 'unavailable' });
    t.like(await t.throwsAsync(away.migrate()), { kind: 'unavailable' });
    await away.close();

    t.like(await t.throwsAsync(away.transact(1, texts)), { kind: 'unavailable' });
    t.like(await t.throwsAsync(away.ping()), { kind: 'unavailable' });
    await away.close();
  });

  /** A pool of one connection, with counts of the server's responses and of sent packets. */
  async function singleConnection(t: ExecutionContext) {
    const pool = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
    t.teardown(() => pool.destroy());
    const answers = { count: 0 };
    const packets = { count: 0 };
    const connection = await pool.client.acquireConnection();
    const { stream } = connection.connection;
    connection.connection.on('readyForQuery', () => (answers.count += 1));
    for (const method of ['_write', '_writev']) {
      const write = stream[method].bind(stream);
      stream[method] = (...given: unknown[]) => {
        packets.count += 1;
        write(...given);
      };
    }
    await pool.client.releaseConnection(connection);
    return { pool, answers, packets };
  }

  test('BEGIN, the settings of a transaction and its first statement cost one round trip', async (t) => {
    const { pool, answers } = await singleConnection(t);
    const opening: Opening = { opening: { text: `SELECT set_config('parley.tenant', $1, true)`, values: ['7'] } };
    const tenant = async (knex: Knex, ...values: string[]): Promise<string> => {
      const { rows } = await knex.raw(
        `SELECT current_setting('parley.tenant') AS tenant ${values.length ? ', ?' : ''}`,
        values,
      );
      return rows[0].tenant;
    };

    t.is(await pool.transaction((transaction) => tenant(transaction, 'a value'), opening), '7');
    t.is(answers.count, 2); // the second answer is the response to COMMIT
    // A text without values may contain several statements, so it takes a separate round trip.
    t.is(await pool.transaction((transaction) => tenant(transaction), opening), '7');
    t.is(answers.count, 5);
    await pool.transaction(async () => undefined, opening);
    await t.throwsAsync(pool.transaction(async () => Promise.reject(new Error('no')), opening));
    t.is(answers.count, 5);
  });

  test('statements made at once are sent in one packet, each with its own result', async (t) => {
    const { pool, packets } = await singleConnection(t);
    const opening: Opening = { opening: { text: `SELECT set_config('parley.tenant', $1, true)`, values: ['7'] } };
    const results = await pool
      .transaction(
        (transaction) =>
          Promise.allSettled([
            transaction.raw('SELECT current_setting(?) AS value', ['parley.tenant']),
            transaction.raw('SELECT cast(? AS integer) AS value', [1]),
            transaction
              .raw('SELECT 1 / cast(? AS integer) AS value', [0])
              .catch((error: unknown) => t.like(error, { code: '22012' })),
            transaction.raw('SELECT cast(? AS integer) AS value', [2]),
          ]),
        opening,
      )
      .catch((error: unknown) => t.regex(String(error), /its error was swallowed/));
    t.is(results, true);
    t.is(packets.count, 2); // the second packet is COMMIT
    const values = await pool.transaction(async (transaction) => {
      const all = [1, 2, 3].map((value) => transaction.raw('SELECT cast(? AS integer) AS value', [value]));
      return (await Promise.all(all)).map(({ rows }) => rows[0].value);
    }, opening);
    t.deepEqual(values, [1, 2, 3]);
    t.is(packets.count, 4);
  });

  test('a group of statements is one packet with one answer, and a transaction of its own', async (t) => {
    const { pool, answers, packets } = await singleConnection(t);
    const connection = await pool.client.acquireConnection();
    const opening = { text: `SELECT set_config('parley.tenant', $1, true)`, values: ['7'] };
    const group = statementGroup(pool, connection, opening);
    const made = Promise.all([
      group.knex.raw('SELECT current_setting(?) AS value', ['parley.tenant']),
      group.knex.select(group.knex.raw('cast(? AS integer) AS value', [2])).first(),
    ]);
    await immediate();
    await group.send((error) => t.fail(error.message));
    const [{ rows }, second] = await made;
    t.deepEqual([rows, second], [[{ value: '7' }], { value: 2 }]);
    t.deepEqual([packets.count, answers.count], [1, 1]);
    await t.throwsAsync(Promise.resolve(group.knex.raw('SELECT 1')), { message: /already complete/ });
    await pool.client.releaseConnection(connection);
    const after = await pool.raw(`SELECT current_setting('parley.tenant', true) AS value`);
    t.falsy(after.rows[0].value);
  });

  test('nothing is committed when a statement fails whose result was not awaited', async (t) => {
    const database = await testSchema(t, notesSchema);
    const forgetful = database.transact(1, async (db) => {
      await addNote(db, 'never');
      void db.knex.raw('SELECT 1 / cast(? AS integer)', [0]).catch(() => undefined);
      for (let n = 0; n < 50; n += 1) await Promise.resolve(); // the statement is sent, but its result arrives after COMMIT
    });
    await t.throwsAsync(forgetful, { message: /its error was swallowed/ });
    t.deepEqual(await database.transact(1, countNotes), 0);
  });

  test('when a transaction does not begin, none of its statements runs, and its connection stays usable', async (t) => {
    const { pool } = await singleConnection(t);
    const text = `SELECT set_config('search_path', 'pg_catalog', true), set_config('role', $1, true)`;
    const opening: Opening = { opening: { text, values: ['nobody_is_called_this'] } };
    const refused = /role "nobody_is_called_this" does not exist/;
    for (const values of [[], ['a value']]) {
      const first = `CREATE TEMPORARY TABLE seen AS SELECT 1 ${values.length ? ', ?::text' : ''}`;
      const swallowing = pool.transaction(async (transaction) => {
        for (const sql of [first, 'SELECT 1', 'SELECT 1']) {
          t.regex(
            (await t.throwsAsync(async () => transaction.raw(sql, sql === first ? values : [])))?.message ?? '',
            refused,
          );
        }
      }, opening);
      t.regex((await t.throwsAsync(swallowing))?.message ?? '', refused);
      t.deepEqual((await pool.raw('SELECT 1 AS one')).rows, [{ one: 1 }]);
      t.deepEqual((await pool.raw(`SELECT to_regclass('seen') AS seen`)).rows, [{ seen: null }]);
      t.regex((await pool.raw('SHOW search_path')).rows[0].search_path, /public/);
    }
  });

  test('no statement runs outside of its transaction, even beside other statements', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const table = `${database.schemaName}.notes`;
    const refuse = async () => {
      await immediate();
      throw new Error('no');
    };
    // If the first statement has no parameters, it is sent in a separate message.
    for (const values of [[], ['stray']]) {
      const sql = `INSERT INTO ${table} (tenant_id, text) VALUES (1, ${values.length ? '?' : `'stray'`})`;
      for (const reject of [refuse, async () => Promise.reject(new Error('no'))]) {
        const work = ({ knex }: TenantDb) => Promise.all([knex.raw(sql, values), knex.raw(sql, values), reject()]);
        await t.throwsAsync(database.transact(1, work), { message: 'no' });
        await t.throwsAsync(
          database.transact(1, ({ knex }) => Promise.all([reject(), knex.raw(sql, values)])),
          { message: 'no' },
        );
      }
    }
    t.deepEqual(await database.transact(1, texts), []);
  });

  test('losing prepared statements at the beginning of a transaction causes one retry without side effects', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const add = `INSERT INTO ${database.schemaName}.notes (tenant_id, text) VALUES (1, ?)`;
    for (let n = 0; n < 5; n += 1) await database.transact(1, ({ knex }) => knex.raw(add, ['kept']));
    for (const first of [
      countNotes,
      (db: TenantDb) => Promise.all(['a', 'b'].map((text) => db.knex.raw(add, [text]))),
    ]) {
      await database.transact(1, ({ knex }) => knex.raw('DEALLOCATE ALL'));
      let runs = 0;
      const failing = database.transact(1, async (db) => {
        runs += 1;
        await first(db);
        throw new Error(`run ${runs}`);
      });
      await t.throwsAsync(failing, { message: 'run 2' });
      for (let n = 0; n < 5; n += 1) t.is(await database.transact(1, countNotes), 5);
    }
  });

  test('a statement that is refused as the first of its transaction is prepared once on its connection', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const add = (stars: unknown) =>
      database.transact(1, ({ knex }) => knex('notes').insert({ tenant_id: 1, text: stars as string }));
    const refusals = [];
    for (let n = 0; n < 6; n += 1) {
      refusals.push(await t.throwsAsync(add(null)));
      await add('a note');
    }
    t.true(refusals.every((error) => error && 'code' in error && error.code === '23502'));
    t.is(await database.transact(1, countNotes), 6);
  });

  test('a savepoint does not send the settings of a transaction again', async (t) => {
    const database = await testSchema(t, notesSchema);

    await database.transact(1, async (db) => {
      await t.throwsAsync(
        db.knex.transaction(async (savepoint) => {
          await addNote({ ...db, knex: savepoint }, 'a note');
          throw new Error('undone');
        }),
        { message: 'undone' },
      );
      await db.knex.transaction((savepoint) => addNote({ ...db, knex: savepoint }, 'a note'));
    });

    t.is(await database.transact(1, countNotes), 1);
  });

  test('read runs one statement, and sees only the tenant', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, (db) => addNote(db, 'a note'));
    let isEnded = false;

    const read = database.read(1, (db) => {
      db.afterCommit(() => {
        isEnded = true;
      });
      return countNotes(db);
    });
    t.is(await read, 1);
    t.true(isEnded);
    t.is(await database.read(2, countNotes), 0);
    t.is(await database.read(1, async () => 'nothing'), 'nothing');
    const twice = database.read(1, async (db) => [await countNotes(db), await countNotes(db)]);
    await t.throwsAsync(twice, { message: /already complete/ });
    const together = database.read(1, (db) => Promise.all([countNotes(db), countNotes(db)]));
    await t.throwsAsync(together, { message: /already complete/ });
  });

  test('readShared reads what belongs to no tenant, and no rows of tenants', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, (db) => addNote(db, 'a note'));
    await database.transactShared(({ knex }) => knex('people').insert({ email: 'ada@example.test' }));
    t.deepEqual(await database.readShared(({ knex }) => knex('people').pluck('email')), ['ada@example.test']);
    await t.throwsAsync(database.readShared(({ knex }) => knex('notes').pluck('text')));
    await t.throwsAsync(
      database.readShared(({ knex }) => knex('people').insert({ email: 'eve@example.test' })),
      { message: /read-only transaction/ },
    );
  });

  test('read accepts a query that has not been sent yet', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, (db) => addNote(db, 'a note'));
    t.deepEqual(await database.read(1, ({ knex }) => knex('notes').pluck('text')), ['a note']);
  });

  test('a transaction that commits at once does not wait for the results of its statements', async (t) => {
    const database = await testSchema(t, notesSchema);
    const gate = createGate();
    let isEnded = false;
    const writing = database.transact(
      1,
      async (db) => {
        db.afterCommit(() => {
          isEnded = true;
        });
        const ids = await Promise.all(['one', 'two'].map((text) => addNote(db, text)));
        await gate.pass();
        return ids.length;
      },
      { commitsAtOnce: true },
    );
    await eventually('both are committed', async () => (await database.transact(1, countNotes)) === 2);
    t.false(isEnded);
    gate.open();
    t.is(await writing, 2);
    t.true(isEnded);
  });

  test('a transaction that commits at once commits nothing if a statement fails, and accepts no later statement', async (t) => {
    const database = await testSchema(t, notesSchema);
    const atOnce = (work: (db: TenantDb) => Promise<unknown>) => database.transact(1, work, { commitsAtOnce: true });
    const divide = ({ knex }: TenantDb) => knex.raw('SELECT 1 / cast(? AS integer)', [0]);

    const failing = atOnce((db) => Promise.all([addNote(db, 'never'), divide(db), addNote(db, 'never')]));
    t.like(await t.throwsAsync(failing), { code: '22012' });
    const swallowing = (db: TenantDb) => divide(db).catch(() => undefined);
    t.like(await t.throwsAsync(atOnce((db) => Promise.all([addNote(db, 'never'), swallowing(db)]))), { code: '22012' });
    await t.throwsAsync(atOnce(swallowing), { message: /its error was swallowed/ });
    const nested = ({ knex }: TenantDb) =>
      knex.transaction((inner) => inner('notes').insert({ tenantId: 2, text: 'foreign' }));
    for (const attempt of [() => atOnce(nested), () => database.read(1, nested)]) {
      await t.throwsAsync(attempt(), { message: /no transactions of its own/ });
    }
    await t.throwsAsync(
      atOnce(async () => {
        throw new Error('no');
      }),
      { message: 'no' },
    );
    t.is(await database.transact(1, countNotes), 0);
    await t.throwsAsync(
      atOnce(async (db) => [await addNote(db, 'committed'), await addNote(db, 'too late')]),
      { message: /already complete/ },
    );
    t.deepEqual(await database.transact(1, texts), ['committed']);
  });

  test('when one of several statements fails, its error is reported, and not those of the statements refused because of it', async (t) => {
    const database = await testSchema(t, notesSchema);
    for (let depth = 0; depth < 4; depth += 1) {
      const failing = async (db: TenantDb, left: number): Promise<unknown> =>
        left > 0 ? await failing(db, left - 1) : await db.knex.raw('SELECT 1 / cast(? AS integer)', [0]);
      const error = await t.throwsAsync(
        database.transact(1, async (db) => {
          await countNotes(db);
          return Promise.all([failing(db, depth), db.knex.raw('SELECT cast(? AS integer)', [1])]);
        }),
      );
      t.like(error, { code: '22012' }, `${depth}`);
    }
  });

  test('read cannot write, and rejects with the error of its work', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });

    await t.throwsAsync(
      database.read(1, (db) => addNote(db, 'a note')),
      { message: /read-only transaction/ },
    );
    await t.throwsAsync(
      database.read(1, async (db) => {
        await addNote(db, 'a note').catch(() => undefined);
        return 'all is well';
      }),
      { message: /its error was swallowed/ },
    );

    t.is(await database.transact(1, countNotes), 0);
  });
});
