import { isDeepStrictEqual } from 'node:util';
import { unavailable } from '@parley/kernel/errors';
import { compareEventIds } from '@parley/live/event-log/event-id';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test, { type ExecutionContext } from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { turnStore } from '../src/turn-store.ts';
import { createGate, finished, gatedReply, text, used, waitForGate } from './scripted-agent.ts';
import {
  failureOf,
  inTenant,
  isChunk,
  isFailure,
  isReply,
  isStatus,
  joinedChunks,
  replyOf,
  sessionMesh,
  subscribe,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const env = { SESSION_LEASE_MS: '2000' };

/** Asserts that ids increase and no event is repeated, not even under another id. */
function assertOnceInOrder(t: ExecutionContext, events: SessionEvent[]): void {
  for (const [n, { eventId }] of events.entries()) {
    const before = events[n - 1]?.eventId;
    t.true(before === undefined || compareEventIds(before, eventId) < 0, `${before} is followed by ${eventId}`);
  }
  const duplicates = events.filter(({ kind }, n) =>
    events.slice(0, n).some((earlier) => isDeepStrictEqual(earlier.kind, kind)),
  );
  t.deepEqual(duplicates, []);
}

test('a turn whose process dies is finished by another as attempt 2, and subscribers get each event once', async (t) => {
  const { app, agent, database, replica } = await sessionMesh(t, { env });
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase });
  const gate = createGate();
  agent.script = async function* (call) {
    if (agent.calls.length > 1) {
      yield text('whole reply');
      yield finished();
      return;
    }
    yield text('half a ');
    await waitForGate(gate, call);
    yield text('reply');
    yield finished();
  };
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello', clientTurnId: 'x' });
  await subscriber.until('the first chunk', isChunk);
  await crashingDatabase.close(); // from now on this process cannot renew its lease or store anything
  const reply = replyOf(await subscriber.until('the reply', isReply));
  gate.open();

  t.deepEqual(reply, { text: 'whole reply', interrupted: false, turnIndex: 0, clientTurnId: 'x', rowIndex: 1 });
  const attempts = subscriber.events.flatMap(({ kind }) =>
    kind?.$case === 'aiResponseChunk' ? [kind.value.attempt] : [],
  );
  t.deepEqual(attempts, [1, 2]);
  assertOnceInOrder(t, subscriber.events);
  t.is(joinedChunks(subscriber.events, 0), 'whole reply');
  t.is((await app.getTranscript(inTenant(1), id)).messages.length, 2);

  const resumed = subscribe(t, app, id, { after: subscriber.events.find(isChunk)?.eventId ?? t.fail() });
  await resumed.until('the reply', isReply);
  t.deepEqual(resumed.events, subscriber.events.slice(-2));

  // A late subscriber gets the same events.
  const late = subscribe(t, app, id, { after: '0' });
  await late.until('the reply', isReply);
  t.deepEqual(late.events, subscriber.events);
});

test('a call that a stopping agent replica rejects before any text is repeated on another replica', async (t) => {
  const { app, agent } = await sessionMesh(t, { env });
  agent.script = async function* () {
    yield used({ tokensIn: 7, contextTokens: 7 });
    if (agent.calls.length === 1) throw unavailable('This replica is stopping');
    yield text('said whole');
    yield finished();
  };
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  t.is(replyOf(await subscriber.until('the reply', isReply)).text, 'said whole');
  t.is(agent.calls.length, 2);
  t.deepEqual(subscriber.events.filter(isFailure), []);
});

test('a turn whose process dies three times fails', async (t) => {
  const { app, agent, database, replica } = await sessionMesh(t, { env });
  agent.script = gatedReply(createGate());
  const { id } = await app.startSession(inTenant(1), start);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  // Simulates that the process of the third attempt died.
  await database.transactShared(({ knex }) =>
    knex('jobs')
      .where({ kind: 'session.turn' })
      .update({
        attempt: 3,
        lease_token: knex.raw('gen_random_uuid()'),
        lease_until: knex.raw(`parley_now() - interval '1 second'`),
      }),
  );
  const other = await replica();
  const subscriber = subscribe(t, other.app, id, { after: '0' });
  t.like(failureOf(await subscriber.until('the failure', isFailure)), { code: 'TURN_LOST', turnIndex: 0 });
  t.is((await app.getTranscript(inTenant(1), id)).messages.length, 1);
  agent.script = async function* () {
    yield text('yes');
    yield finished();
  };
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'again' });
  await subscriber.until('a reply', isReply);
});

test('a restarted process takes over running turns at once, and event ids keep increasing', async (t) => {
  const { agent, database, replica, unit } = await sessionMesh(t);
  await unit.stop(); // only the replica that dies and its successor remain
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const { app } = await replica({ database: crashingDatabase });
  agent.script = gatedReply(createGate(), 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const before = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'and more' });
  await eventually('the call', () => agent.calls.length === 1);
  await before.until('the status', isStatus);
  await crashingDatabase.close(); // from now on this process cannot claim a job or store anything
  agent.script = async function* ({ asked }) {
    yield text(`Re: ${asked}`);
    yield finished();
  };
  const restarted = await replica({ soleOwner: true, eventLog: memoryEventLog() });
  const subscriber = subscribe(t, restarted.app, id, { after: '0' });
  await subscriber.until('both replies', isReply, 2);
  t.deepEqual(
    subscriber.events.filter(isReply).map((event) => replyOf(event).text),
    ['Re: hello', 'Re: and more'],
  );
  t.is(subscriber.events[0]?.eventId, before.events[0]?.eventId);
  assertOnceInOrder(t, subscriber.events);
});

test('a replica that stops hands its turn over to another', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  const stopping = await replica();
  agent.script = gatedReply(createGate(), 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await stopping.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  agent.script = async function* () {
    yield text('taken over');
    yield finished();
  };
  const stopped = stopping.unit.stop();
  t.is(replyOf(await subscriber.until('the reply', isReply, 1)).text, 'taken over');
  await stopped;
  t.is(agent.calls[0]?.end, 'cancelled');
  assertOnceInOrder(t, subscriber.events);
});

for (const what of ['interrupt', 'end'] as const) {
  test(`the ${what} of a turn between two attempts keeps its streamed text`, async (t) => {
    const { agent, database, replica, unit } = await sessionMesh(t);
    await unit.stop(); // only the replica that hands the turn over and its successor remain
    const stopping = await replica();
    const gate = createGate();
    agent.script = gatedReply(gate, 'so far ', 'never');
    const { id } = await stopping.app.startSession(inTenant(1), start);
    const shown = subscribe(t, stopping.app, id, { after: '0' });
    await stopping.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
    gate.release();
    await shown.until('the first chunk', isChunk);
    await stopping.unit.stop();
    // The state after a failed attempt: the job is not due for a while.
    const waiting = await database.transactShared(({ knex }) =>
      knex('jobs')
        .where({ kind: 'session.turn', state: 'queued', attempt: 1 })
        .update({ run_at: knex.raw(`parley_now() + interval '1 hour'`) }),
    );
    t.is(waiting, 1);

    const { app } = await replica();
    const subscriber = subscribe(t, app, id, { after: '0' });
    if (what === 'interrupt') t.true(await app.interruptSession(inTenant(1), String(id)));
    else t.is((await app.endSession(inTenant(1), String(id))).status, 'ENDED');
    const reply = replyOf(await subscriber.until('the reply', isReply));
    t.like(reply, { text: 'so far ', interrupted: true, turnIndex: 0 });
    t.is(agent.calls.length, 1);
    t.false(subscriber.events.some(isFailure));
    if (what === 'end') await subscriber.until('ACTIVE, then ENDED', isStatus, 2);
  });
}

test('a session can be ended while the process of its turn is dead', async (t) => {
  const { app, agent, database, replica, published } = await sessionMesh(t);
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase });
  const gate = createGate();
  agent.script = gatedReply(gate, 'so far', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  await crashingDatabase.close();

  t.is((await app.endSession(inTenant(1), String(id))).status, 'ENDED');
  await subscriber.until('ACTIVE, then ENDED', isStatus, 2);
  t.like(replyOf(subscriber.events.find(isReply) ?? t.fail()), { text: 'so far', interrupted: true });
  await eventually('the event', () => published.length === 1);
  const { messages } = await app.getTranscript(inTenant(1), id);
  t.deepEqual(
    messages.map((message) => message.text),
    ['hello', 'so far'],
  );
});

test('an interrupt before the second attempt streams text keeps the text of the first', async (t) => {
  const { app, agent, database, replica } = await sessionMesh(t, { env });
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase });
  const gate = createGate();
  agent.script = gatedReply(gate, 'so far ', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  await crashingDatabase.close();
  await eventually('the second attempt', () => agent.calls.length === 2);
  t.true(await app.interruptSession(inTenant(1), String(id)));
  t.like(replyOf(await subscriber.until('the reply', isReply)), { text: 'so far ', interrupted: true });
});

test('the text of a dead process is kept although the event log is unavailable for a moment', async (t) => {
  const { agent, database, replica, unit, eventLog } = await sessionMesh(t, { env });
  await unit.stop(); // only the replica that dies and its successor remain
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase });
  const gate = createGate();
  agent.script = gatedReply(gate, 'so far ', 'never');
  const { id } = await crashing.app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, crashing.app, id, { after: '0' });
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  await crashingDatabase.close();

  let reads = 0;
  const { app } = await replica({
    eventLog: {
      ...eventLog,
      async read(...which) {
        reads += 1;
        if (reads <= 2) throw unavailable('The event log is unavailable');
        return eventLog.read(...which);
      },
    },
  });
  t.true(await app.interruptSession(inTenant(1), String(id)));
  const reply = await eventually('the reply', async () => (await app.getTranscript(inTenant(1), id)).messages[1]);
  t.is(reply.text, 'so far ');
  t.is(agent.calls.length, 1);
});

for (const how of ['its turn has no attempts left', 'its session has to end'] as const) {
  test(`a reply without a process keeps its streamed text when ${how}, although the event log is unavailable for a moment`, async (t) => {
    const { agent, database, replica, unit, eventLog } = await sessionMesh(t);
    await unit.stop(); // only the replica that dies and its successor remain
    const crashingDatabase = await replicaOf(t, database, sessionSchema);
    const crashing = await replica({ database: crashingDatabase });
    const gate = createGate();
    agent.script = gatedReply(gate, 'so far ', 'never');
    const { id } = await crashing.app.startSession(inTenant(1), start);
    const subscriber = subscribe(t, crashing.app, id, { after: '0' });
    await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
    gate.release();
    await subscriber.until('the first chunk', isChunk);
    await crashingDatabase.close(); // the lease of the dead process lasts longer than the wait for the end of a session
    const givenUp = how === 'its turn has no attempts left';
    if (givenUp) {
      await database.transact(1, (db) => turnStore(db).markFirstInterrupted(id));
      await database.transactShared(async ({ knex }) => {
        const lost = { attempt: 3, lease_until: knex.raw(`parley_now() - interval '1 second'`) };
        await knex('jobs').where({ kind: 'session.turn' }).update(lost);
      });
    }

    let reads = 0;
    const { app } = await replica({
      eventLog: {
        ...eventLog,
        async read(...which) {
          reads += 1;
          if (reads <= 2) throw unavailable('The event log is unavailable');
          return eventLog.read(...which);
        },
      },
    });
    if (!givenUp) t.is((await app.endSession(inTenant(1), String(id))).status, 'ENDED');
    const reply = await eventually('the reply', async () => (await app.getTranscript(inTenant(1), id)).messages[1]);
    t.is(reply.text, 'so far ');
  });
}
