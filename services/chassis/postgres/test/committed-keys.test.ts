import { onEveryDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import { requestOf } from '@parley/testing/request-of';
import type { ExecutionContext } from 'ava';
import {
  committedKeys,
  committedKeysMigration,
  committedKeysTable,
  committedUnder,
  onceUnder,
} from '../src/committed-keys.ts';
import type { Database, SchemaDeclaration, TenantDb } from '../src/database/types.ts';

const schema: SchemaDeclaration = {
  ...notesSchema,
  tables: { ...notesSchema.tables, [committedKeysTable]: 'internal' },
  migrations: [...notesSchema.migrations, committedKeysMigration('002-committed-keys')],
};
const day = 24 * 60 * 60_000;

onEveryDatabase(({ engine, replicaOf, test, testSchema }) => {
  async function notes(t: ExecutionContext) {
    let offsetMs = 0;
    const clock = { clockOffsetMs: () => offsetMs };
    const database = await testSchema(t, schema, clock);
    const write = async (db: TenantDb) => {
      const [note] = await db.knex('notes').insert({ tenantId: db.tenantId, text: 'x' }, 'id');
      return String(note.id);
    };
    return {
      database,
      write,
      other: () => replicaOf(t, database, schema, clock),
      once: (key: string, { on = database, tenantId = 1 }: { on?: Database; tenantId?: number } = {}) =>
        on.transact(tenantId, (db) => committedKeys(db).once(key, () => write(db))),
      find: (key: string, tenantId = 1) => database.read(tenantId, (db) => committedKeys(db).find(key)),
      count: (tenantId = 1) => database.transact(tenantId, async ({ knex }) => (await knex('notes')).length),
      keys: () => database.transactShared(({ knex }) => knex(committedKeysTable).orderBy('key').pluck('key')),
      advance: (ms: number) => {
        offsetMs += ms;
      },
    };
  }

  test('an effect committed under a key is found, and does not run again', async (t) => {
    const { once, find, count } = await notes(t);
    t.is(await find('a'), undefined);
    const first = await once('a');
    t.true(first.ran);
    t.deepEqual(await once('a'), { ...first, ran: false });
    t.is(await find('a'), first.result);
    t.is(await count(), 1);
    t.true((await once('b')).ran);
  });

  test('an effect runs once under the effect key of requests, and for each request without one', async (t) => {
    const { database, write, count } = await notes(t);
    const caller = { kind: 'user', tenantId: 1, requestId: 'test' } as const;
    const under = (request: object) => database.transact(1, (db) => onceUnder(db, request, () => write(db)));
    const keyed = requestOf(caller, { effectKey: 'a' });
    t.is(await committedUnder(database, keyed), undefined);
    const first = await under(keyed);
    t.is(await under(keyed), first);
    t.is(await committedUnder(database, keyed), first);
    t.is(await count(), 1);

    const unkeyed = requestOf(caller);
    t.not(await under(unkeyed), await under(unkeyed));
    t.is(await committedUnder(database, unkeyed), undefined);
    t.is(await count(), 3);
  });

  test('a key belongs to one tenant', async (t) => {
    const { once, find, count } = await notes(t);
    const first = await once('a');
    t.is(await find('a', 2), undefined);
    t.not((await once('a', { tenantId: 2 })).result, first.result);
    t.deepEqual([await count(1), await count(2)], [1, 1]);
  });

  test('an effect that failed leaves no key', async (t) => {
    const { database, once, find, count } = await notes(t);
    const failing = database.transact(1, (db) =>
      committedKeys(db).once('a', () => Promise.reject(new Error('no place'))),
    );
    await t.throwsAsync(failing, { message: 'no place' });
    t.is(await find('a'), undefined);
    t.true((await once('a')).ran);
    t.is(await count(), 1);
  });

  test('of concurrent transactions one runs the effect, and the others return its result', async (t) => {
    const { once, other, count } = await notes(t);
    const replica = await other();
    const all = await Promise.all(Array.from({ length: 8 }, (_, n) => once('a', n % 2 ? { on: replica } : {})));
    t.is(all.filter(({ ran }) => ran).length, 1);
    t.is(new Set(all.map(({ result }) => result)).size, 1);
    t.is(await count(), 1);
  });

  test('keys are removed gradually after two days, those of all tenants', async (t) => {
    const { once, keys, advance } = await notes(t);
    for (let n = 0; n < 6; n++) await once(`old ${n}`, { tenantId: 1 + (n % 2) });
    advance(2 * day - 60_000);
    await once('young');
    t.is((await keys()).length, 7);
    advance(120_000);
    await once('one');
    t.is((await keys()).length, 4);
    await once('two');
    t.deepEqual(await keys(), ['one', 'two', 'young']);
  });

  if (engine === 'server') {
    test('a transaction that waits for one that rolls back runs the effect itself', async (t) => {
      const { database, write, once, other, count } = await notes(t);
      const replica = await other();
      const [began, gate] = [createGate(), createGate()];
      const first = database.transact(1, (db) =>
        committedKeys(db).once('a', async () => {
          await write(db);
          began.open();
          await gate.pass();
          throw new Error('rolled back');
        }),
      );
      await began.pass();
      const second = once('a', { on: replica });
      gate.open();
      await t.throwsAsync(first, { message: 'rolled back' });
      t.true((await second).ran);
      t.is(await count(), 1);
    });
  }
});
