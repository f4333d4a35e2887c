import { randomUUID } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Envelope } from '@parley/events/envelope';
import { unavailable } from '@parley/kernel/errors';
import { onOneDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { notesSchema } from '@parley/testing/notes-schema';
import type { Database } from '../src/database/types.ts';
import { exchange } from '../src/outbox/outbox-rows.ts';
import { append, emptied, numberOf, numbersOf, startRelay, waiting } from './support/outbox-setup.ts';
import { recordingBus } from './support/recording-bus.ts';

onOneDatabase(({ replicaOf, test, testSchema }) => {
  test('events claimed by a dead relay are published with the same ids, in order, when its claim has expired', async (t) => {
    let offsetMs = 0;
    const database = await testSchema(t, notesSchema);
    const other = await replicaOf(t, database, notesSchema, { clockOffsetMs: () => offsetMs });
    const dying = recordingBus();
    const gate = createGate();
    const delivered: Envelope[] = [];
    dying.decide = async (events) => {
      delivered.push(...events); // the event arrives, but the relay never learns of it
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
    await bus.until(() => bus.accepted.length > 0);
    t.deepEqual(numbersOf(bus.accepted, 'a'), [], 'the claim still holds, for later events of the key too');

    offsetMs = 31_000;
    await append(other, 'b', 1);
    await bus.until(() => numbersOf(bus.accepted, 'a').length === 2);

    t.deepEqual(numbersOf(bus.accepted, 'a'), [0, 1]);
    t.is(bus.accepted.find(({ key }) => key === 'a')?.id, delivered[0]?.id);
    await emptied(database);
  });

  test('a sole owner publishes events claimed by a dead relay at once', async (t) => {
    const database = await testSchema(t, notesSchema);
    await append(database, 'a', 0);
    const nothing = { published: [], failed: [], held: [] };
    const held = await exchange(database, { relayId: randomUUID(), claimMs: 3_600_000, ...nothing, limit: 10 });
    t.is(held.length, 1);

    const bus = recordingBus();
    await startRelay(t, database, bus, { soleOwner: true });

    await bus.until(() => bus.accepted.length === 1);
    t.deepEqual(bus.accepted.map(numberOf), [0]);
  });

  test('a relay renews its claim while it publishes, and no other publishes the event', async (t) => {
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
      const [row] = await database.transactShared(({ knex }) => knex('outbox').select('claimedUntil'));
      return row.claimedUntil;
    };
    const firstEnd = await claimedUntil();

    await startRelay(t, other, quick, { pollMs: 100 });
    const timeoutSignal = AbortSignal.timeout(20_000);
    while ((await claimedUntil()).getTime() < firstEnd.getTime() + 3_000) {
      timeoutSignal.throwIfAborted();
      await immediate();
    }
    gate.open();
    await emptied(database);

    t.is(slow.accepted.length, 1);
    t.is(quick.accepted.length, 0);
  });

  test('after an outage of the database the relay continues without publishing twice', async (t) => {
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
    await bus.until(() => bus.accepted.length === 2);

    t.is(refusals, 3);
    t.deepEqual(bus.accepted.map(numberOf), [0, 1]);
  });

  test('events of other processes are found by polling', async (t) => {
    const database = await testSchema(t, notesSchema);
    const elsewhere = await replicaOf(t, database, notesSchema);
    const bus = recordingBus();
    await startRelay(t, database, bus, { pollMs: 20 });
    await emptied(database);

    await append(elsewhere, 'a', 0);

    await bus.until(() => bus.accepted.length === 1);
    t.pass();
  });

  test('stop waits for events that are being published, and claims no more', async (t) => {
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
      bus.accepted.map(({ key }) => key),
      ['a'],
    );
    t.is(await waiting(database), 1);
  });

  test('events that fail while stopping can be claimed by another relay at once', async (t) => {
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
    await next.until(() => next.accepted.length === 1);
    t.pass();
  });
});
