import { randomUUID } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import { deadLetterRetentionMs, rememberedDays, usualRetentionMs } from '@parley/events/topics';
import { eventually } from '@parley/testing/eventually';
import { onEveryDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import type { Database, SharedDb, TenantDb } from '../src/database/types.ts';
import { once, purgeBatchSize, purgeInbox } from '../src/outbox/inbox.ts';
import { outbox } from '../src/outbox/outbox.ts';
import { exchange, oldestEventAgeMs } from '../src/outbox/outbox-rows.ts';
import { outboxRelay } from '../src/outbox/relay.ts';
import {
  append,
  emptied,
  numbered,
  numberOf,
  numbersOf,
  publishesNotes,
  range,
  silent,
  startRelay,
  waiting,
} from './support/outbox-setup.ts';
import { recordingBus } from './support/recording-bus.ts';

onEveryDatabase(({ replicaOf, test, testSchema }) => {
  test('an event is published unchanged after its commit', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));
    const bus = recordingBus();
    await startRelay(t, database, bus);

    await database.transact(42, async (db: TenantDb) => {
      await outbox(db).append(numbered('a', 7));
      await db.knex('notes').insert({ tenant_id: 42, text: 'x' });
      await immediate();
      t.deepEqual(bus.accepted, []);
    });
    await bus.until(() => bus.accepted.length > 0);

    const [event] = bus.accepted;
    t.like(event, { topic: 'note-written', type: 'note.written.v1', source: 'notes', key: 'a', tenantId: 42 });
    t.regex(event?.id ?? '', /^[0-9a-f-]{36}$/);
    t.true(event?.time instanceof Date);
    t.deepEqual(bus.accepted.map(numberOf), [7]);
    await emptied(database);
  });

  test('a claim examines few of the events that wait, with and without statistics', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));
    await database.transactShared(({ knex }) =>
      knex.raw(
        `INSERT INTO outbox (tenant_id, topic, type, key, data)
         SELECT 1, 'note-written', 'note.written.v1', 'of ' || n / 5, 'x' FROM generate_series(1, cast(? AS integer)) AS n`,
        [20_000],
      ),
    );
    for (const analyzed of [false, true]) {
      const undone = database.transactShared(async (db) => {
        if (analyzed) await db.knex.raw('RESET ROLE; ANALYZE outbox');
        const sent: { sql: string; bindings: string[] }[] = [];
        db.knex.on('query', (query: { sql: string; bindings: string[] }) => void sent.push(query));
        const alone = { ...database, transactShared: <T>(work: (same: SharedDb) => Promise<T>) => work(db) };
        const request = { relayId: randomUUID(), claimMs: 60_000, published: [], failed: [], held: [], limit: 100 };
        t.is((await exchange(alone, request)).length, 100);
        const { sql = '', bindings = [] } = sent.at(-1) ?? {};
        const explain = `EXPLAIN (ANALYZE, FORMAT JSON) ${sql.replaceAll(/\$\d+/g, '?')}`;
        const { rows } = await db.knex.raw(explain, bindings);
        const [, examined] =
          /"Alias": "waiting",[^{}]*"Actual Rows": ([\d.]+)/.exec(JSON.stringify(rows, null, 1)) ?? [];
        t.true(Number(examined) < 1_000, `${examined} with${analyzed ? '' : 'out'} statistics`);
        throw new Error('undone');
      });
      await t.throwsAsync(undone, { message: 'undone' });
    }
  });

  test('an event of a transaction that rolls back is never published', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));
    const bus = recordingBus();
    await startRelay(t, database, bus);

    await t.throwsAsync(
      database.transact(1, async (db) => {
        await outbox(db).append(numbered('a', 1));
        throw new Error('no');
      }),
    );
    await append(database, 'a', 2);

    await bus.until(() => bus.accepted.length > 0);
    t.deepEqual(bus.accepted.map(numberOf), [2]);
  });

  test('an event without a tenant is refused', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));

    await t.throwsAsync(
      database.transactShared((db) => outbox(db).append(numbered('a', 1))),
      { message: /belongs to no tenant/ },
    );
    await database.transactShared((db) => outbox(db).append({ ...numbered('a', 1), tenantId: 3 }));

    t.is(await waiting(database), 1);
  });

  test('an event of an undeclared topic or type is refused, and its transaction rolls back', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));

    for (const undeclared of [{ topic: 'note-torn' }, { type: 'note.writen.v1' }]) {
      const { topic, type, ...event } = { ...numbered('a', 1), ...undeclared };
      await t.throwsAsync(
        database.transact(1, (db) => outbox(db).append(numbered('a', 1), { ...event, topic, type })),
        { message: `This service does not declare that it publishes ${type} to ${topic}` },
      );
    }

    t.is(await waiting(database), 0);
  });

  test('two relays publish the events of each key once and in order', async (t) => {
    const database = await testSchema(t, notesSchema);
    const other = await replicaOf(t, database, notesSchema);
    const bus = recordingBus();
    bus.decide = () => immediate();
    await Promise.all([startRelay(t, database, bus), startRelay(t, other, bus)]);
    const keys = ['a', 'b', 'c', 'd', 'e'];

    await Promise.all(
      keys.map(async (key, index) => {
        for (const number of range(30)) await append(index % 2 === 0 ? database : other, key, number);
      }),
    );
    await bus.until(() => bus.accepted.length >= 150);
    await emptied(database);

    for (const key of keys) t.deepEqual(numbersOf(bus.accepted, key), range(30));
  });

  test('events of one transaction keep their order, and a backlog larger than a batch is published', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));
    const bus = recordingBus();
    await database.transact(1, (db) =>
      outbox(db).append(...range(1_300).map((number) => numbered(`${number % 3}`, number))),
    );

    await startRelay(t, database, bus);
    await bus.until(() => bus.accepted.length >= 1_300);
    await emptied(database);

    t.is(bus.accepted.length, 1_300);
    for (const rest of [0, 1, 2]) {
      t.deepEqual(
        numbersOf(bus.accepted, `${rest}`),
        range(1_300).filter((number) => number % 3 === rest),
      );
    }
  });

  test('a key that is being published delays its own later events, but no other key', async (t) => {
    const database = await testSchema(t, notesSchema);
    const bus = recordingBus();
    const gate = createGate();
    bus.decide = ([first]) => (first?.key === 'slow' ? gate.pass() : Promise.resolve());
    await startRelay(t, database, bus);

    await append(database, 'slow', 0);
    await append(database, 'slow', 1);
    for (const number of range(20)) await append(database, 'quick', number);
    await bus.until(() => numbersOf(bus.accepted, 'quick').length === 20);
    t.deepEqual(numbersOf(bus.accepted, 'slow'), []);

    gate.open();
    await bus.until(() => numbersOf(bus.accepted, 'slow').length === 2);
    t.deepEqual(numbersOf(bus.accepted, 'slow'), [0, 1]);
  });

  test('events wait while the bus fails, and are published in order after that', async (t) => {
    const database = await testSchema(t, notesSchema);
    const bus = recordingBus();
    bus.decide = () => Promise.reject(new Error('the broker is away'));
    await startRelay(t, database, bus);

    for (const number of range(10)) {
      await append(database, 'a', number);
      await append(database, 'b', number);
    }
    await bus.until(() => bus.rejected >= 6);
    t.is(await waiting(database), 20);
    t.deepEqual(bus.accepted, []);

    bus.decide = async () => undefined;
    await bus.until(() => bus.accepted.length >= 20);
    await emptied(database);

    t.deepEqual(numbersOf(bus.accepted, 'a'), range(10));
    t.deepEqual(numbersOf(bus.accepted, 'b'), range(10));
  });

  test('a key that always fails does not delay the others', async (t) => {
    const database = await testSchema(t, notesSchema);
    const bus = recordingBus();
    bus.decide = async (events) => {
      if (events.some(({ key }) => key === 'poison')) throw new Error('too large');
    };
    await startRelay(t, database, bus);

    await append(database, 'poison', 0);
    await bus.until(() => bus.rejected > 0);
    for (const number of range(5)) await append(database, 'a', number);
    await bus.until(() => bus.accepted.length === 5);

    t.deepEqual(numbersOf(bus.accepted, 'a'), range(5));
    await bus.until(() => bus.rejected > 2);
  });

  test('the age of the oldest event is reported, 0 when there is none', async (t) => {
    let offsetMs = 0;
    const database = await testSchema(t, notesSchema, { clockOffsetMs: () => offsetMs });
    t.is(await oldestEventAgeMs(database), 0);

    await append(database, 'a', 0);
    offsetMs = 90_000;
    await append(database, 'a', 1);

    const ageMs = await oldestEventAgeMs(database);
    t.true(ageMs >= 90_000 && ageMs < 120_000, `${ageMs}`);
  });

  test('the gauge reports the age in seconds', async (t) => {
    const database = await testSchema(t, notesSchema);
    const gauges = new Map<string, () => number | Promise<number>>();
    outboxRelay({
      database,
      bus: recordingBus(),
      log: silent,
      metrics: { gauge: (name, _help, read) => gauges.set(name, read) },
    });
    await append(database, 'a', 0);

    const seconds = await gauges.get('parley_outbox_oldest_seconds')?.();

    t.true(seconds !== undefined && seconds >= 0 && seconds < 30, `${seconds}`);
  });

  const dayMs = 86_400_000;

  const take = (database: Database, eventId: string, consumer = 'reader') =>
    database.transact(1, (db) =>
      once(db, consumer, eventId, () => db.knex('notes').insert({ tenant_id: 1, text: `${consumer} ${eventId}` })),
    );
  const notes = (database: Database): Promise<string[]> =>
    database.transact(1, ({ knex }) => knex('notes').orderBy('id').pluck('text'));

  test('an event that is delivered twice takes effect once', async (t) => {
    const database = await testSchema(t, notesSchema);
    const id = randomUUID();

    t.true(await take(database, id));
    t.false(await take(database, id));

    t.deepEqual(await notes(database), [`reader ${id}`]);
  });

  test('an event takes effect once per consumer', async (t) => {
    const database = await testSchema(t, notesSchema);
    const id = randomUUID();

    await take(database, id, 'reader');
    await take(database, id, 'indexer');

    t.deepEqual(await notes(database), [`reader ${id}`, `indexer ${id}`]);
  });

  test('five concurrent deliveries take effect once', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 5 });
    const ids = Array.from({ length: 8 }, () => randomUUID());

    const took = await Promise.all(ids.flatMap((id) => Array.from({ length: 5 }, () => take(database, id))));

    t.is(took.filter(Boolean).length, 8);
    t.deepEqual((await notes(database)).toSorted(), ids.map((id) => `reader ${id}`).toSorted());
  });

  test('a failed effect leaves no mark, so the next delivery runs it', async (t) => {
    const database = await testSchema(t, notesSchema);
    const id = randomUUID();
    await t.throwsAsync(
      database.transact(1, (db) =>
        once(db, 'reader', id, async () => {
          await db.knex('notes').insert({ tenant_id: 1, text: 'half' });
          throw new Error('no');
        }),
      ),
      { message: 'no' },
    );

    t.true(await take(database, id));

    t.deepEqual(await notes(database), [`reader ${id}`]);
  });

  test('a second delivery waits for the first, and runs the effect when the first fails', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 2 });
    const id = randomUUID();
    let second: Promise<boolean> | undefined;

    await t.throwsAsync(
      database.transact(1, (db) =>
        once(db, 'reader', id, async () => {
          second = take(database, id);
          throw new Error('the first fails');
        }),
      ),
    );

    t.true(await second);
    t.deepEqual(await notes(database), [`reader ${id}`]);
  });

  test('inbox marks are deleted once no redelivery is possible, and not before', async (t) => {
    let offsetMs = 0;
    const database = await testSchema(t, notesSchema, { clockOffsetMs: () => offsetMs });
    const [old, recent] = [randomUUID(), randomUUID()];
    await take(database, old);
    offsetMs = dayMs;
    await take(database, recent);

    // A dead letter is replayed on its last day, and then waits in its topic for the whole retention time of an event.
    offsetMs = deadLetterRetentionMs + usualRetentionMs;
    t.is(await purgeInbox(database), 0);
    t.false(await take(database, old));

    offsetMs = (rememberedDays + 0.5) * dayMs;
    t.is(await purgeInbox(database), 1);

    t.true(await take(database, old));
    t.false(await take(database, recent));
  });

  test('a relay deletes all old inbox marks in short transactions', async (t) => {
    const old = 2 * purgeBatchSize + 10;
    const database = await testSchema(t, notesSchema);
    await database.transactShared(({ knex }) =>
      knex.raw(
        `INSERT INTO inbox (consumer, event_id, taken_at)
       SELECT 'reader', n::text, parley_now() - CASE WHEN n > ${old} THEN interval '1 day' ELSE interval '90 days' END
       FROM generate_series(1, ${old + 3}) n`,
      ),
    );
    const relay = outboxRelay({ database, bus: { publish: async () => undefined }, log: silent, pollMs: 60_000 });
    await relay.start();
    t.teardown(() => relay.stop());
    const marks = () => database.transactShared(({ knex }) => knex('inbox').pluck<string>('eventId'));
    await eventually('the old ones are gone', async () => (await marks()).length === 3);
    t.deepEqual(
      (await marks()).map(Number).toSorted((a, b) => a - b),
      [1, 2, 3].map((n) => old + n),
    );
  });
});
