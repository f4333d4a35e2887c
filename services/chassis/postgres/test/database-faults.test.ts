import { type DatabaseProxy, databaseProxy } from '@parley/testing/database-proxy';
import { eventually } from '@parley/testing/eventually';
import { onDatabaseServer, onEveryDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import { connectionQueue } from '../src/database/connection-queue.ts';
import { migrateSchema } from '../src/database/migrate.ts';
import { openDatabase } from '../src/database/open.ts';
import type { Database, Migration, SchemaDeclaration, TenantDb } from '../src/database/types.ts';
import { openPool } from '../src/driver/pool.ts';

/** Runs a statement that the server refuses with this SQLSTATE. */
const refuse = ({ knex }: TenantDb, code: string) =>
  knex.raw(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END $$`);
const addNote = ({ knex, tenantId }: TenantDb, text: string) => knex('notes').insert({ tenant_id: tenantId, text });
const texts = ({ knex }: TenantDb): Promise<string[]> => knex('notes').orderBy('id').pluck('text');

const stars: Migration = {
  name: '999-stars',
  async up(knex) {
    await knex.raw('ALTER TABLE notes ADD COLUMN stars integer');
  },
};
const extended: SchemaDeclaration = { ...notesSchema, migrations: [...notesSchema.migrations, stars] };

onEveryDatabase(({ test, testDatabaseUrl, testSchema }) => {
  for (const [code, why] of [
    ['40P01', 'a deadlock'],
    ['40001', 'a serialization failure'],
  ] as const) {
    test(`a transaction that the server rolled back for ${why} is retried, and only the retry has effects`, async (t) => {
      const database = await testSchema(t, notesSchema);
      const effects: number[] = [];
      const woken: string[] = [];
      database.onWake('first', () => woken.push('first'));
      database.onWake('second', () => woken.push('second'));
      let runs = 0;
      const answer = await database.transact(1, async (db) => {
        const run = ++runs;
        db.afterCommit(() => effects.push(run));
        db.wake(run === 1 ? 'first' : 'second');
        await addNote(db, `run ${run}`);
        if (run === 1) await refuse(db, code);
        return run;
      });
      t.is(answer, 2);
      t.deepEqual(effects, [2]);
      t.deepEqual(woken, ['second']);
      t.deepEqual(await database.transact(1, texts), ['run 2']);
    });
  }

  test('a transaction that is rolled back twice, or fails for another reason, is not retried', async (t) => {
    const database = await testSchema(t, notesSchema);
    const runs = { '40P01': 0, '57014': 0, '23514': 0 };
    const attempt = (code: keyof typeof runs) =>
      t.throwsAsync(
        database.transact(1, async (db) => {
          runs[code] += 1;
          await addNote(db, code);
          await refuse(db, code);
        }),
      );
    t.like(await attempt('40P01'), { kind: 'unavailable' });
    t.like(await attempt('57014'), { kind: 'unavailable' });
    t.like(await attempt('23514'), { code: '23514' });
    t.deepEqual(runs, { '40P01': 2, '57014': 1, '23514': 1 });
    t.deepEqual(await database.transact(1, texts), []);
  });

  test('a lost connection causes a retry of a transaction that reads only or commits at once, but of no other', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, (db) => addNote(db, 'kept'));
    const runs = { read: 0, atOnce: 0, transact: 0 };
    const losing = (how: keyof typeof runs) => {
      const work = async (db: TenantDb) => {
        runs[how] += 1;
        if (runs[how] === 1) await refuse(db, '57P01');
        return texts(db);
      };
      return how === 'read' ? database.read(1, work) : database.transact(1, work, { commitsAtOnce: how === 'atOnce' });
    };
    t.deepEqual(await losing('read'), ['kept']);
    t.deepEqual(await losing('atOnce'), ['kept']);
    t.like(await t.throwsAsync(losing('transact')), { kind: 'unavailable' });
    t.deepEqual(runs, { read: 2, atOnce: 2, transact: 1 });
  });

  test('a lock timeout is unavailable and rolls its transaction back', async (t) => {
    const database = await testSchema(t, notesSchema);
    const refused = database.transact(1, async ({ knex }) => {
      await knex('notes').insert({ tenant_id: 1, text: 'never' });
      await knex.raw(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '55P03'; END $$`);
    });
    t.like(await t.throwsAsync(refused), { kind: 'unavailable' });
    t.deepEqual(await database.transact(1, ({ knex }) => knex('notes')), []);
  });

  // The following tests run serially, because a connection held open makes an embedded database wait for it.

  /** A migrated schema of this test, reached through a proxy that can be cut. */
  async function databaseOverLine(
    t: ExecutionContext,
    statementTimeoutMs = 60_000,
  ): Promise<{ database: Database; line: DatabaseProxy }> {
    const { schemaName } = await testSchema(t, notesSchema);
    const line = await databaseProxy(await testDatabaseUrl());
    t.teardown(() => line.close());
    const database = openDatabase({
      url: line.url,
      schema: notesSchema,
      schemaName,
      poolSize: 1,
      statementTimeoutMs,
    });
    t.teardown(() => database.close());
    return { database, line };
  }

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

  test.serial('the loss of an idle connection causes no error', async (t) => {
    const { database, line } = await databaseOverLine(t);
    await database.transact(1, (db) => addNote(db, 'before'));

    await line.cut();
    await line.restore();
    await database.transact(1, (db) => addNote(db, 'after'));

    t.deepEqual(await database.transact(1, texts), ['before', 'after']);
  });

  test.serial('everything is unavailable during an outage of the server, and works after it', async (t) => {
    const { database, line } = await databaseOverLine(t);
    await database.transact(1, (db) => addNote(db, 'before'));
    await line.cut();

    t.like(await t.throwsAsync(database.transact(1, texts)), { kind: 'unavailable' });
    t.like(await t.throwsAsync(database.ping()), { kind: 'unavailable' });

    await line.restore();
    t.deepEqual(await database.transact(1, texts), ['before']);
  });

  test.serial('statements on a silent server time out, and the pool loses no connection', async (t) => {
    const { database, line } = await databaseOverLine(t, 1_500);

    for (const [how, before] of [
      ['transact', 1],
      ['transact', 0],
      ['read', 0],
      ['transact', 1],
    ] as const) {
      let runs = 0;
      const error = await t.throwsAsync(
        database[how](1, async (db) => {
          runs += 1;
          for (let n = 0; n < before; n += 1) await addNote(db, 'never');
          line.hold();
          await (how === 'read' ? texts(db) : addNote(db, 'never'));
        }),
      );
      t.like(error, { kind: 'unavailable' });
      t.is(runs, 1);
    }

    await database.transact(1, (db) => addNote(db, 'kept'));
    t.deepEqual(await database.transact(1, texts), ['kept']);
  });

  test.serial(
    'in a queue that pools share, urgent transactions of one do not wait for new ones of another',
    async (t) => {
      const { schemaName } = await testSchema(t, notesSchema);
      const sharedQueue = connectionQueue({ size: 2 });
      const options = { url: await testDatabaseUrl(), schema: notesSchema, schemaName, poolSize: 4, sharedQueue };
      const [one, other] = [openDatabase(options), openDatabase(options)];
      t.teardown(() => Promise.all([one.close(), other.close()]));
      const gate = createGate();
      t.teardown(() => gate.open());
      const held = Array.from({ length: 3 }, () => one.transact(1, () => gate.pass()));
      const waiting = other.transact(1, texts);

      t.deepEqual(await other.transact(1, texts, { isUrgent: true }), []);
      t.deepEqual([sharedQueue.used, sharedQueue.waiting], [1, 3], 'all others wait for the first one');
      gate.open();
      await Promise.all(held);
      t.deepEqual(await waiting, []);
    },
  );

  test.serial('tenants are served round robin, for writes as for reads', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const gate = createGate();
    t.teardown(() => gate.open());
    const held = database.transact(1, () => gate.pass());
    const order: string[] = [];
    const write = (tenantId: number, name: string) => database.transact(tenantId, async () => order.push(name));
    const read = (tenantId: number, name: string) => database.read(tenantId, async () => order.push(name));
    const waiting = [
      ...['a', 'b', 'c', 'd'].map((name) => write(1, name)),
      ...['e', 'f'].map((name) => write(2, name)),
      ...['g', 'h'].map((name) => read(3, name)),
    ];
    gate.open();
    await Promise.all([held, ...waiting]);
    t.deepEqual(order, ['a', 'e', 'g', 'b', 'f', 'h', 'c', 'd']);
  });

  test.serial('a transaction that waits too long for a connection is unavailable', async (t) => {
    const { schemaName } = await testSchema(t, notesSchema);
    const url = await testDatabaseUrl();
    const narrow = openDatabase({ url, schema: notesSchema, schemaName, poolSize: 1, acquireTimeoutMs: 1_500 });
    t.teardown(() => narrow.close());

    await narrow.transact(1, async () => {
      t.like(await t.throwsAsync(narrow.transact(1, texts)), { kind: 'unavailable' });
    });
  });
});

onDatabaseServer(({ test, testDatabaseUrl, testSchema }) => {
  test('a database that answers others is available while no connection is free', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const [first, second] = [createGate(), createGate()];
    const held = [first, second].map((gate) => database.transact(1, () => gate.pass()));
    t.teardown(() => second.open());
    const pinged = database.ping();
    first.open();
    await t.notThrowsAsync(pinged);
    second.open();
    await Promise.all(held);
  });

  test('a database that answers nobody is unavailable', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    const gate = createGate();
    t.teardown(() => gate.open());
    const held = database.transact(1, () => gate.pass());
    t.like(await t.throwsAsync(database.ping()), { kind: 'unavailable' });
    gate.open();
    await held;
  });

  test('a server that accepts no more connections is unavailable for every kind of transaction', async (t) => {
    const { schemaName } = await testSchema(t, notesSchema);
    const url = await testDatabaseUrl();
    const owner = openPool({ url, poolSize: 1, statementTimeoutMs: 10_000 });
    t.teardown(() => owner.destroy());
    const login = `${schemaName}_login`;
    await owner.raw(`CREATE ROLE ${login} LOGIN PASSWORD 'pass' CONNECTION LIMIT 0`);
    t.teardown(() => owner.raw(`DROP ROLE ${login}`));
    const asLogin = Object.assign(new URL(url), { username: login, password: 'pass' }).href;
    const full = openDatabase({ url: asLogin, schema: notesSchema, schemaName, poolSize: 1 });
    t.teardown(() => full.close());
    for (const attempt of [
      () => full.transact(1, texts),
      () => full.read(1, texts),
      () => full.transact(1, texts, { commitsAtOnce: true }),
    ]) {
      t.like(await t.throwsAsync(attempt()), { kind: 'unavailable' });
    }
  });

  test('two deadlocked transactions both succeed', async (t) => {
    const database = await testSchema(t, notesSchema);
    await database.transact(1, async (db) => {
      for (const text of ['one', 'other']) await addNote(db, text);
    });
    const gates = [createGate(), createGate()] as const;
    let isFirst = true;
    const touch = ({ knex }: TenantDb, text: string) => knex('notes').where({ text }).update({ text });
    await Promise.all([
      database.transact(1, async (db) => {
        await touch(db, 'one');
        gates[0].open();
        await gates[1].pass();
        await touch(db, 'other');
      }),
      database.transact(1, async (db) => {
        await touch(db, 'other');
        gates[1].open();
        if (isFirst) await gates[0].pass();
        isFirst = false;
        await touch(db, 'one');
      }),
    ]);
    t.deepEqual((await database.transact(1, texts)).toSorted(), ['one', 'other']);
  });

  test('a transaction that loses its prepared statements each time it runs succeeds, after a deadlock too', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 1 });
    await database.transact(1, (db) => addNote(db, 'kept'));
    const read = ({ knex }: TenantDb): Promise<string[]> => knex('notes').where('id', '>', 0).pluck('text');
    let runs = 0;
    const notes = await database.transact(1, async (db) => {
      runs += 1;
      if (runs === 1) await refuse(db, '40P01');
      for (let n = 0; n < 5; n += 1) await read(db);
      await db.knex.raw('DEALLOCATE ALL'); // a pooler does this before it gives the connection to another client
      return read(db);
    });
    t.deepEqual(notes, ['kept']);
    t.is(runs, 3);
  });

  test('what no longer fits is freed on the server', async (t) => {
    const { schemaName } = await testSchema(t, notesSchema);
    const database = openDatabase({ url: await testDatabaseUrl(), schema: notesSchema, schemaName, poolSize: 1 });
    t.teardown(() => database.close());
    const owner = openPool({ url: await testDatabaseUrl(), poolSize: 1, statementTimeoutMs: 5_000 });
    t.teardown(() => owner.destroy());
    const read = ({ knex }: TenantDb) => knex('notes').where('id', '>', 0);
    for (const change of ['ADD COLUMN stars integer', 'DROP COLUMN stars']) {
      for (let n = 0; n < 6; n += 1) await database.transact(1, read);
      await owner.raw(`ALTER TABLE ${schemaName}.notes ${change}`);
    }
    for (let n = 0; n < 6; n += 1) await database.transact(1, read);
    const prepared = await database.transact(1, async ({ knex }) => {
      const { rows } = await knex.raw(`SELECT name FROM pg_prepared_statements WHERE statement LIKE '%notes%'`);
      return rows.length;
    });
    t.is(prepared, 1);
  });

  test('a transaction that waits too long for a locked row is unavailable, and succeeds later', async (t) => {
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
  });

  test('a migration that waits for a locked table rolls back, so that readers can proceed', async (t) => {
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
    await eventually('its migrations roll back', () => said.some((line) => line.includes('rolled back')));
    t.deepEqual(await database.transact(2, ({ knex }) => knex('notes')), []);
    gate.open();
    await holder;
    t.deepEqual(await migrating, ['999-stars']);
  });
});
