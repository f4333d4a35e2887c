import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { TenantDb } from '../src/database/types.ts';
import { outbox } from '../src/events/outbox.ts';
import { oldestEventAgeMs } from '../src/events/outbox-rows.ts';
import { outboxRelay } from '../src/events/relay.ts';
import { createGate } from '../src/testing/gate.ts';
import { replicaOf, testSchema } from '../src/testing/test-schema.ts';
import { notesSchema } from './support/notes-schema.ts';
import {
  append,
  emptied,
  numbered,
  numberOf,
  numbersOf,
  range,
  silent,
  startRelay,
  waiting,
} from './support/outbox-setup.ts';
import { recordingBus } from './support/recording-bus.ts';

test('an event is published after its commit, with all it was given', async (t) => {
  const database = await testSchema(t, notesSchema);
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
  const database = await testSchema(t, notesSchema);
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
  const database = await testSchema(t, notesSchema);

  await t.throwsAsync(
    database.transactShared((db) => outbox(db).append(numbered('a', 1))),
    { message: /belongs to no tenant/ },
  );
  await database.transactShared((db) => outbox(db).append({ ...numbered('a', 1), tenantId: 3 }));

  t.is(await waiting(database), 1);
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
  const database = await testSchema(t, notesSchema);
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
