import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Database } from '../src/database/types.ts';
import { once, purgedAtOnce, purgeInbox } from '../src/events/inbox.ts';
import { outboxRelay } from '../src/events/relay.ts';
import { deadLetterRetentionMs, rememberedDays, usualRetentionMs } from '../src/events/topics.ts';
import { eventually } from '../src/testing/eventually.ts';
import { testSchema } from '../src/testing/test-schema.ts';
import { notesSchema } from './support/notes-schema.ts';
import { silent } from './support/outbox-setup.ts';

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
  const marks = () => database.transactShared(({ knex }) => knex('inbox').pluck<string>('event_id'));
  await eventually('the old ones are gone', async () => (await marks()).length === 3);
  t.deepEqual(
    (await marks()).map(Number).toSorted((a, b) => a - b),
    [1, 2, 3].map((n) => old + n),
  );
});
