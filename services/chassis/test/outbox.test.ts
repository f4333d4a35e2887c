import { setImmediate as turn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { Database, TenantDb } from '../src/database/types.ts';
import { unavailable } from '../src/errors.ts';
import type { Envelope } from '../src/events/envelope.ts';
import { outbox } from '../src/events/outbox.ts';
import { oldestEventAgeMs } from '../src/events/outbox-rows.ts';
import { type OutboxRelayOptions, outboxRelay } from '../src/events/relay.ts';
import { createGate } from '../src/testing/gate.ts';
import { replicaOf, testSchema } from '../src/testing/test-schema.ts';
import { notesSchema } from './support/notes-schema.ts';
import { type RecordingBus, recordingBus } from './support/recording-bus.ts';

const silent = pino({ level: 'silent' });
const numbered = (key: string, number: number) => ({
  topic: 'note-written',
  type: 'note.written.v1',
  key,
  data: new TextEncoder().encode(String(number)),
});
const numberOf = ({ data }: Envelope) => Number(new TextDecoder().decode(data));
const numbersOf = (events: Envelope[], key: string) => events.filter((event) => event.key === key).map(numberOf);
const range = (length: number) => Array.from({ length }, (_, index) => index);
const append = (database: Database, key: string, number: number) =>
  database.transact(1, (db) => outbox(db).append(numbered(key, number)));
const waiting = (database: Database): Promise<number> =>
  database.transactShared(async ({ knex }) => (await knex('outbox')).length);

async function startRelay(
  t: ExecutionContext,
  database: Database,
  bus: RecordingBus,
  options: Partial<OutboxRelayOptions> = {},
) {
  // Polls are far off unless a test is about them, so that what happens was woken.
  const relay = outboxRelay({ database, bus, log: silent, pollMs: 60_000, firstRetryMs: 10, ...options });
  await relay.start();
  t.teardown(() => relay.stop());
  return relay;
}

/** Resolves when the outbox is empty; each look is a transaction, so nothing is spun. */
async function emptied(database: Database): Promise<void> {
  const late = AbortSignal.timeout(20_000);
  while ((await waiting(database)) > 0) {
    late.throwIfAborted();
    await turn();
  }
}

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

test('what a relay held when it died is published again under the same id, in order, when its claim has run out', async (t) => {
  let offsetMs = 0;
  const database = await testSchema(t, notesSchema);
  const other = await replicaOf(t, database, notesSchema, { clockOffsetMs: () => offsetMs });
  const dying = recordingBus();
  const gate = createGate();
  const delivered: Envelope[] = [];
  dying.decide = async (events) => {
    delivered.push(...events); // it arrives, but the relay never hears of it
    await gate.pass();
  };
  await startRelay(t, database, dying);
  t.teardown(() => gate.open());
  await append(database, 'a', 0);
  await dying.until(() => delivered.length === 1);

  const bus = recordingBus();
  await startRelay(t, other, bus);
  await append(other, 'b', 0);
  await append(other, 'a', 1);
  await bus.until(() => bus.taken.length > 0);
  t.deepEqual(numbersOf(bus.taken, 'a'), [], 'the claim still holds, for later events of the key too');

  offsetMs = 31_000;
  await append(other, 'b', 1);
  await bus.until(() => numbersOf(bus.taken, 'a').length === 2);

  t.deepEqual(numbersOf(bus.taken, 'a'), [0, 1]);
  t.is(bus.taken.find(({ key }) => key === 'a')?.id, delivered[0]?.id);
  await emptied(database);
});

test('a relay that is slow to publish renews its claim, and no other takes the event', async (t) => {
  const database = await testSchema(t, notesSchema);
  const other = await replicaOf(t, database, notesSchema);
  const slow = recordingBus();
  const gate = createGate();
  slow.decide = () => gate.pass();
  const quick = recordingBus();
  await startRelay(t, database, slow, { claimMs: 3_000 });
  t.teardown(() => gate.open());
  await append(database, 'a', 0);
  await slow.until(() => slow.calls === 1);
  const claimedUntil = async (): Promise<Date> => {
    const [row] = await database.transactShared(({ knex }) => knex('outbox').select('claimed_until'));
    return row.claimed_until;
  };
  const firstEnd = await claimedUntil();

  await startRelay(t, other, quick, { pollMs: 100 });
  const late = AbortSignal.timeout(20_000);
  while ((await claimedUntil()).getTime() < firstEnd.getTime() + 3_000) {
    late.throwIfAborted();
    await turn();
  }
  gate.open();
  await emptied(database);

  t.is(slow.taken.length, 1);
  t.is(quick.taken.length, 0);
});

test('while the database is away the relay waits, and then goes on without publishing twice', async (t) => {
  const database = await testSchema(t, notesSchema);
  const bus = recordingBus();
  const gate = createGate();
  bus.decide = () => gate.pass();
  let away = false;
  let refusals = 0;
  const flaky: Database = {
    ...database,
    async transactShared(work) {
      if (!away) return database.transactShared(work);
      refusals += 1;
      if (refusals === 3) away = false;
      throw unavailable('The database is not available');
    },
  };
  await startRelay(t, flaky, bus);
  await append(database, 'a', 0);
  await bus.until(() => bus.calls === 1);

  away = true;
  gate.open();
  await emptied(database);
  await append(database, 'a', 1);
  await bus.until(() => bus.taken.length === 2);

  t.is(refusals, 3);
  t.deepEqual(bus.taken.map(numberOf), [0, 1]);
});

test('rows that no commit of this process announced are found by the poll', async (t) => {
  const database = await testSchema(t, notesSchema);
  const elsewhere = await replicaOf(t, database, notesSchema);
  const bus = recordingBus();
  await startRelay(t, database, bus, { pollMs: 20 });
  await emptied(database);

  await append(elsewhere, 'a', 0);

  await bus.until(() => bus.taken.length === 1);
  t.pass();
});

test('stop waits for what is being published, and takes nothing more', async (t) => {
  const database = await testSchema(t, notesSchema);
  const bus = recordingBus();
  const gate = createGate();
  bus.decide = () => gate.pass();
  const relay = await startRelay(t, database, bus);
  await append(database, 'a', 0);
  await bus.until(() => bus.calls === 1);

  const stopping = relay.stop();
  await append(database, 'b', 0);
  t.is(await Promise.race([stopping, Promise.resolve('still going')]), 'still going');
  gate.open();
  await stopping;

  t.deepEqual(
    bus.taken.map(({ key }) => key),
    ['a'],
  );
  t.is(await waiting(database), 1);
});

test('what is refused while stopping is free for another relay at once', async (t) => {
  const database = await testSchema(t, notesSchema);
  const bus = recordingBus();
  const gate = createGate();
  bus.decide = async () => {
    await gate.pass();
    throw new Error('going away');
  };
  const relay = await startRelay(t, database, bus);
  await append(database, 'a', 0);
  await bus.until(() => bus.calls === 1);
  const stopping = relay.stop();
  gate.open();
  await stopping;

  const next = recordingBus();
  await startRelay(t, database, next, { pollMs: 20 });
  await next.until(() => next.taken.length === 1);
  t.pass();
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
