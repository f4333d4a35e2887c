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
import { asking, createGate, finished, gatedReply, held, text } from './scripted-agent.ts';
import {
  failureIn,
  inTenant,
  isChunk,
  isFailure,
  isReply,
  isStatus,
  joinedChunks,
  replyIn,
  sessionMesh,
  watch,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const env = { SESSION_LEASE_MS: '2000' };

/** That ids grow from event to event, and that nothing is told twice, under another id neither. */
function assertOnceInOrder(t: ExecutionContext, events: SessionEvent[]): void {
  for (const [n, { eventId }] of events.entries()) {
    const before = events[n - 1]?.eventId;
    t.true(before === undefined || compareEventIds(before, eventId) < 0, `${before} is followed by ${eventId}`);
  }
  const again = events.filter(({ kind }, n) => events.slice(0, n).some((told) => isDeepStrictEqual(told.kind, kind)));
  t.deepEqual(again, []);
}

test('a turn whose process dies is finished by another, as a second attempt, and a watcher sees it once', async (t) => {
  const { app, agent, database, replica } = await sessionMesh(t, { env });
  const dyingDatabase = await replicaOf(t, database, sessionSchema);
  const dying = await replica({ database: dyingDatabase });
  const gate = createGate();
  agent.script = async function* (call) {
    if (agent.calls.length > 1) {
      yield text('whole reply');
      yield finished();
      return;
    }
    yield text('half a ');
    await held(gate, call);
    yield text('reply');
    yield finished();
  };
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello', clientTurnId: 'x' });
  await watching.until('the first piece', isChunk);
  await dyingDatabase.close(); // from now on this process can renew nothing and store nothing
  const reply = replyIn(await watching.until('the reply', isReply));
  gate.open();

  t.deepEqual(reply, { text: 'whole reply', interrupted: false, turnIndex: 0, clientTurnId: 'x', rowIndex: 1 });
  const attempts = watching.events.flatMap(({ kind }) =>
    kind?.$case === 'aiResponseChunk' ? [kind.value.attempt] : [],
  );
  t.deepEqual(attempts, [1, 2]);
  assertOnceInOrder(t, watching.events);
  t.is(joinedChunks(watching.events, 0), 'whole reply');
  t.is((await app.getTranscript(inTenant(1), id)).messages.length, 2);

  const resumed = watch(t, app, id, { after: watching.events.find(isChunk)?.eventId ?? t.fail() });
  await resumed.until('the reply', isReply);
  t.deepEqual(resumed.events, watching.events.slice(-2));

  // Whoever comes after all that finds it as the watcher saw it, and nothing twice.
  const late = watch(t, app, id, { after: '0' });
  await late.until('the reply', isReply);
  t.deepEqual(late.events, watching.events);
});

test('a turn that a replica of agent gives back before it has said anything is asked of the next', async (t) => {
  const { app, agent } = await sessionMesh(t, { env });
  agent.script = async function* () {
    yield asking(7);
    if (agent.calls.length === 1) throw unavailable('This replica is stopping');
    yield text('said whole');
    yield finished();
  };
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  t.is(replyIn(await watching.until('the reply', isReply)).text, 'said whole');
  t.is(agent.calls.length, 2);
  t.deepEqual(watching.events.filter(isFailure), []);
});

test('a turn that is lost three times fails', async (t) => {
  const { app, agent, database, replica } = await sessionMesh(t, { env });
  agent.script = gatedReply(createGate());
  const { id } = await app.startSession(inTenant(1), start);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  // As if the process of the third attempt had died.
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
  const watching = watch(t, other.app, id, { after: '0' });
  t.like(failureIn(await watching.until('the failure', isFailure)), { code: 'TURN_LOST', turnIndex: 0 });
  t.is((await app.getTranscript(inTenant(1), id)).messages.length, 1);
  agent.script = async function* () {
    yield text('yes');
    yield finished();
  };
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'again' });
  await watching.until('a reply', isReply);
});

test('a restart takes over at once what was running, and ids go on from where they were', async (t) => {
  const { agent, database, replica, unit } = await sessionMesh(t);
  await unit.stop(); // only the one that dies and the one that comes after it
  const dyingDatabase = await replicaOf(t, database, sessionSchema);
  const { app } = await replica({ database: dyingDatabase });
  agent.script = gatedReply(createGate(), 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const before = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'and more' });
  await eventually('the call', () => agent.calls.length === 1);
  await before.until('the status', isStatus);
  await dyingDatabase.close(); // from now on this process can claim nothing and store nothing
  agent.script = async function* ({ asked }) {
    yield text(`Re: ${asked}`);
    yield finished();
  };
  const restarted = await replica({ soleOwner: true, eventLog: memoryEventLog() });
  const watching = watch(t, restarted.app, id, { after: '0' });
  await watching.until('both replies', isReply, 2);
  t.deepEqual(
    watching.events.filter(isReply).map((event) => replyIn(event).text),
    ['Re: hello', 'Re: and more'],
  );
  t.is(watching.events[0]?.eventId, before.events[0]?.eventId);
  assertOnceInOrder(t, watching.events);
});

test('a replica that stops hands its turn over', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  const leaving = await replica();
  agent.script = gatedReply(createGate(), 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await leaving.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  agent.script = async function* () {
    yield text('taken over');
    yield finished();
  };
  const stopped = leaving.unit.stop();
  t.is(replyIn(await watching.until('the reply', isReply, 1)).text, 'taken over');
  await stopped;
  t.is(agent.calls[0]?.end, 'cancelled');
  assertOnceInOrder(t, watching.events);
});

for (const what of ['interrupt', 'end'] as const) {
  test(`the ${what} of a turn that waits for its next attempt keeps what was shown of it`, async (t) => {
    const { agent, database, replica, unit } = await sessionMesh(t);
    await unit.stop(); // only the one that hands the turn over and the one that comes after it
    const leaving = await replica();
    const gate = createGate();
    agent.script = gatedReply(gate, 'so far ', 'never');
    const { id } = await leaving.app.startSession(inTenant(1), start);
    const shown = watch(t, leaving.app, id, { after: '0' });
    await leaving.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
    gate.release();
    await shown.until('the first piece', isChunk);
    await leaving.unit.stop();
    // As after a failed attempt: nobody takes it for a while by itself.
    const waiting = await database.transactShared(({ knex }) =>
      knex('jobs')
        .where({ kind: 'session.turn', state: 'queued', attempt: 1 })
        .update({ run_at: knex.raw(`parley_now() + interval '1 hour'`) }),
    );
    t.is(waiting, 1);

    const { app } = await replica();
    const watching = watch(t, app, id, { after: '0' });
    if (what === 'interrupt') t.true(await app.interruptSession(inTenant(1), String(id)));
    else t.is((await app.endSession(inTenant(1), String(id))).status, 'ENDED');
    const reply = replyIn(await watching.until('the reply', isReply));
    t.like(reply, { text: 'so far ', interrupted: true, turnIndex: 0 });
    t.is(agent.calls.length, 1);
    t.false(watching.events.some(isFailure));
    if (what === 'end') await watching.until('ACTIVE, then ENDED', isStatus, 2);
  });
}

test('the end of a session does not wait for a holder that has died', async (t) => {
  const { app, agent, database, replica, published } = await sessionMesh(t);
  const dyingDatabase = await replicaOf(t, database, sessionSchema);
  const dying = await replica({ database: dyingDatabase });
  const gate = createGate();
  agent.script = gatedReply(gate, 'so far', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await watching.until('the first piece', isChunk);
  await dyingDatabase.close();

  t.is((await app.endSession(inTenant(1), String(id))).status, 'ENDED');
  await watching.until('ACTIVE, then ENDED', isStatus, 2);
  t.like(replyIn(watching.events.find(isReply) ?? t.fail()), { text: 'so far', interrupted: true });
  await eventually('the event', () => published.length === 1);
  const { messages } = await app.getTranscript(inTenant(1), id);
  t.deepEqual(
    messages.map((message) => message.text),
    ['hello', 'so far'],
  );
});

test('a turn that is cut before its second attempt says anything keeps what the first has shown', async (t) => {
  const { app, agent, database, replica } = await sessionMesh(t, { env });
  const dyingDatabase = await replicaOf(t, database, sessionSchema);
  const dying = await replica({ database: dyingDatabase });
  const gate = createGate();
  agent.script = gatedReply(gate, 'so far ', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await watching.until('the first piece', isChunk);
  await dyingDatabase.close();
  await eventually('the second attempt', () => agent.calls.length === 2);
  t.true(await app.interruptSession(inTenant(1), String(id)));
  t.like(replyIn(await watching.until('the reply', isReply)), { text: 'so far ', interrupted: true });
});

test('a cut reply of a lost process is kept though the log is away for a moment', async (t) => {
  const { agent, database, replica, unit, eventLog } = await sessionMesh(t, { env });
  await unit.stop(); // only the one that dies and the one that comes after it
  const dyingDatabase = await replicaOf(t, database, sessionSchema);
  const dying = await replica({ database: dyingDatabase });
  const gate = createGate();
  agent.script = gatedReply(gate, 'so far ', 'never');
  const { id } = await dying.app.startSession(inTenant(1), start);
  const watching = watch(t, dying.app, id, { after: '0' });
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await watching.until('the first piece', isChunk);
  await dyingDatabase.close();

  let reads = 0;
  const { app } = await replica({
    eventLog: {
      ...eventLog,
      async read(...which) {
        reads += 1;
        if (reads <= 2) throw unavailable('The log is away');
        return eventLog.read(...which);
      },
    },
  });
  t.true(await app.interruptSession(inTenant(1), String(id)));
  const reply = await eventually('the reply', async () => (await app.getTranscript(inTenant(1), id)).messages[1]);
  t.is(reply.text, 'so far ');
  t.is(agent.calls.length, 1);
});

for (const how of ['its turn is given up', 'its session has to end'] as const) {
  test(`a reply that nobody finishes is kept as shown when ${how}, though the log is away for a moment`, async (t) => {
    const { agent, database, replica, unit, eventLog } = await sessionMesh(t);
    await unit.stop(); // only the one that dies and the one that comes after it
    const dyingDatabase = await replicaOf(t, database, sessionSchema);
    const dying = await replica({ database: dyingDatabase });
    const gate = createGate();
    agent.script = gatedReply(gate, 'so far ', 'never');
    const { id } = await dying.app.startSession(inTenant(1), start);
    const watching = watch(t, dying.app, id, { after: '0' });
    await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
    gate.release();
    await watching.until('the first piece', isChunk);
    await dyingDatabase.close(); // its lease goes on for longer than anybody waits for the end of a session
    const givenUp = how === 'its turn is given up';
    if (givenUp) {
      await database.transact(1, (db) => turnStore(db).interruptFirst(id));
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
          if (reads <= 2) throw unavailable('The log is away');
          return eventLog.read(...which);
        },
      },
    });
    if (!givenUp) t.is((await app.endSession(inTenant(1), String(id))).status, 'ENDED');
    const reply = await eventually('the reply', async () => (await app.getTranscript(inTenant(1), id)).messages[1]);
    t.is(reply.text, 'so far ');
  });
}
