import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { deadLetterRetentionMs, rememberedDays, usualRetentionMs } from '@parley/events/topics';
import { eventually } from '@parley/testing/eventually';
import { onEveryDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import type { Database, TenantDb } from '../src/database/types.ts';
import { once, purgedAtOnce, purgeInbox } from '../src/outbox/inbox.ts';
import { outbox } from '../src/outbox/outbox.ts';
import { oldestEventAgeMs } from '../src/outbox/outbox-rows.ts';
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
  test('an event is published after its commit, with all it was given', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));
    const bus = recordingBus();
    await startRelay(t, database, bus);

    await database.transact(42, async (db: TenantDb) => {
      await outbox(db).append(numbered('a', 7));
      await db.knex('notes').insert({ tenant_id: 42, text: 'x' });
      await turn();
      t.deepEqual(bus.taken, []);
    });
    await bus.until(() => bus.taken.length > 0);

    const [event] = bus.taken;
    t.like(event, { topic: 'note-written', type: 'note.written.v1', source: 'notes', key: 'a', tenantId: 42 });
    t.regex(event?.id ?? '', /^[0-9a-f-]{36}$/);
    t.true(event?.time instanceof Date);
    t.deepEqual(bus.taken.map(numberOf), [7]);
    await emptied(database);
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

    await bus.until(() => bus.taken.length > 0);
    t.deepEqual(bus.taken.map(numberOf), [2]);
  });

  test('what belongs to no tenant cannot be announced in nobody’s name', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));

    await t.throwsAsync(
      database.transactShared((db) => outbox(db).append(numbered('a', 1))),
      { message: /belongs to no tenant/ },
    );
    await database.transactShared((db) => outbox(db).append({ ...numbered('a', 1), tenantId: 3 }));

    t.is(await waiting(database), 1);
  });

  test('an event of a topic or type that the service does not declare is refused, and its transaction rolled back', async (t) => {
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

  test('the events of each key leave in order, once, with two relays at work', async (t) => {
    const database = await testSchema(t, notesSchema);
    const other = await replicaOf(t, database, notesSchema);
    const bus = recordingBus();
    bus.decide = () => turn();
    await Promise.all([startRelay(t, database, bus), startRelay(t, other, bus)]);
    const keys = ['a', 'b', 'c', 'd', 'e'];

    await Promise.all(
      keys.map(async (key, index) => {
        for (const number of range(30)) await append(index % 2 === 0 ? database : other, key, number);
      }),
    );
    await bus.until(() => bus.taken.length >= 150);
    await emptied(database);

    for (const key of keys) t.deepEqual(numbersOf(bus.taken, key), range(30));
  });

  test('events of one transaction keep their order, and a backlog larger than a batch leaves whole', async (t) => {
    const database = publishesNotes(await testSchema(t, notesSchema));
    const bus = recordingBus();
    await database.transact(1, (db) =>
      outbox(db).append(...range(1_300).map((number) => numbered(`${number % 3}`, number))),
    );

    await startRelay(t, database, bus);
    await bus.until(() => bus.taken.length >= 1_300);
    await emptied(database);

    t.is(bus.taken.length, 1_300);
    for (const rest of [0, 1, 2]) {
      t.deepEqual(
        numbersOf(bus.taken, `${rest}`),
        range(1_300).filter((number) => number % 3 === rest),
      );
    }
  });

  test('a key that waits does not hold up the others, and its later events wait behind it', async (t) => {
    const database = await testSchema(t, notesSchema);
    const bus = recordingBus();
    const gate = createGate();
    bus.decide = ([first]) => (first?.key === 'slow' ? gate.pass() : Promise.resolve());
    await startRelay(t, database, bus);

    await append(database, 'slow', 0);
    await append(database, 'slow', 1);
    for (const number of range(20)) await append(database, 'quick', number);
    await bus.until(() => numbersOf(bus.taken, 'quick').length === 20);
    t.deepEqual(numbersOf(bus.taken, 'slow'), []);

    gate.open();
    await bus.until(() => numbersOf(bus.taken, 'slow').length === 2);
    t.deepEqual(numbersOf(bus.taken, 'slow'), [0, 1]);
  });

  test('while the bus refuses, events wait; when it takes again, all leave, in order', async (t) => {
    const database = await testSchema(t, notesSchema);
    const bus = recordingBus();
    bus.decide = () => Promise.reject(new Error('the broker is away'));
    await startRelay(t, database, bus);

    for (const number of range(10)) {
      await append(database, 'a', number);
      await append(database, 'b', number);
    }
    await bus.until(() => bus.refused >= 6);
    t.is(await waiting(database), 20);
    t.deepEqual(bus.taken, []);

    bus.decide = async () => undefined;
    await bus.until(() => bus.taken.length >= 20);
    await emptied(database);

    t.deepEqual(numbersOf(bus.taken, 'a'), range(10));
    t.deepEqual(numbersOf(bus.taken, 'b'), range(10));
  });

  test('one key that the bus refuses for ever does not hold up the others', async (t) => {
    const database = await testSchema(t, notesSchema);
    const bus = recordingBus();
    bus.decide = async (events) => {
      if (events.some(({ key }) => key === 'poison')) throw new Error('too large');
    };
    await startRelay(t, database, bus);

    await append(database, 'poison', 0);
    await bus.until(() => bus.refused > 0);
    for (const number of range(5)) await append(database, 'a', number);
    await bus.until(() => bus.taken.length === 5);

    t.deepEqual(numbersOf(bus.taken, 'a'), range(5));
    await bus.until(() => bus.refused > 2);
  });

  test('the age of the oldest event that waits is told, and is 0 when none does', async (t) => {
    let offsetMs = 0;
    const database = await testSchema(t, notesSchema, { clockOffsetMs: () => offsetMs });
    t.is(await oldestEventAgeMs(database), 0);

    await append(database, 'a', 0);
    offsetMs = 90_000;
    await append(database, 'a', 1);

    const ageMs = await oldestEventAgeMs(database);
    t.true(ageMs >= 90_000 && ageMs < 120_000, `${ageMs}`);
  });

  test('the gauge reads the age in seconds', async (t) => {
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

  test('an event that is delivered again has its effect once', async (t) => {
    const database = await testSchema(t, notesSchema);
    const id = randomUUID();

    t.true(await take(database, id));
    t.false(await take(database, id));

    t.deepEqual(await notes(database), [`reader ${id}`]);
  });

  test('each consumer takes an event for itself', async (t) => {
    const database = await testSchema(t, notesSchema);
    const id = randomUUID();

    await take(database, id, 'reader');
    await take(database, id, 'indexer');

    t.deepEqual(await notes(database), [`reader ${id}`, `indexer ${id}`]);
  });

  test('five deliveries at once have one effect', async (t) => {
    const database = await testSchema(t, notesSchema, { poolSize: 5 });
    const ids = Array.from({ length: 8 }, () => randomUUID());

    const took = await Promise.all(ids.flatMap((id) => Array.from({ length: 5 }, () => take(database, id))));

    t.is(took.filter(Boolean).length, 8);
    t.deepEqual((await notes(database)).toSorted(), ids.map((id) => `reader ${id}`).toSorted());
  });

  test('an effect that fails leaves no mark, so the next delivery has it', async (t) => {
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

  test('a second delivery waits for the first, and has the effect itself when the first fails', async (t) => {
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

  test('marks are forgotten when nothing can bring their event again, and not before', async (t) => {
    let offsetMs = 0;
    const database = await testSchema(t, notesSchema, { clockOffsetMs: () => offsetMs });
    const [old, recent] = [randomUUID(), randomUUID()];
    await take(database, old);
    offsetMs = dayMs;
    await take(database, recent);

    // A letter is sent again on its last day, and waits in its topic as long as an event can.
    offsetMs = deadLetterRetentionMs + usualRetentionMs;
    t.is(await purgeInbox(database), 0);
    t.false(await take(database, old));

    offsetMs = (rememberedDays + 0.5) * dayMs;
    t.is(await purgeInbox(database), 1);

    t.true(await take(database, old));
    t.false(await take(database, recent));
  });

  test('a relay forgets all that is old, however much it is, in short transactions', async (t) => {
    const old = 2 * purgedAtOnce + 10;
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
