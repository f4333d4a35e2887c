import { unavailable } from '@parley/kernel/errors';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createGate, finished, foreignAgentId, gatedReply, text, used, waitForGate } from './scripted-agent.ts';
import {
  failureOf,
  inTenant,
  isChunk,
  isFailure,
  isReply,
  isStatus,
  isTurnEnd,
  joinedChunks,
  replyOf,
  sessionMesh,
  subscribe,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

test('an interrupt keeps the partial reply, stops the agent, and the next message is answered', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'Once upon ', 'a time');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'a story', clientTurnId: 'story' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);

  t.true(await app.interruptSession(inTenant(1), String(id)));
  const reply = replyOf(await subscriber.until('the reply', isReply));
  t.deepEqual(reply, { text: 'Once upon ', interrupted: true, turnIndex: 0, clientTurnId: 'story', rowIndex: 1 });
  await eventually('the agent is told', () => agent.calls[0]?.end === 'stopped');

  gate.open();
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'go on' });
  await subscriber.until('the second reply', isReply, 2);
  t.deepEqual(
    agent.calls[1]?.request.history.map(({ text }) => text),
    ['a story', 'Once upon ', 'go on'],
  );
});

test('an interrupt before the first chunk stores an empty reply; without a running turn it only counts', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  t.false(await app.interruptSession(inTenant(1), String(id)));

  agent.script = gatedReply(createGate());
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  t.true(await app.interruptSession(inTenant(1), String(id)));
  t.like(replyOf(await subscriber.until('the reply', isReply)), { text: '', interrupted: true });
  t.is((await app.findSession(inTenant(1), id))?.interruptCount, 2);
});

test('of five interrupts of one reply, one returns true and all are counted', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  const other = await replica();
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  agent.script = gatedReply(createGate());
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  const cut = await Promise.all(
    [app, other.app, app, other.app, app].map((each) => each.interruptSession(inTenant(1), String(id))),
  );
  t.is(cut.filter(Boolean).length, 1);
  t.is((await app.findSession(inTenant(1), id))?.interruptCount, 5);
  t.like(replyOf(await subscriber.until('the reply', isReply)), { interrupted: true });

  await app.sendMessage(inTenant(1), { sessionId: id, text: 'again' });
  await eventually('the next call', () => agent.calls.length === 2);
  t.true(await app.interruptSession(inTenant(1), String(id)), 'the next reply is another one');
});

test('a turn can be interrupted from another replica', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  const other = await replica();
  const gate = createGate();
  agent.script = gatedReply(gate, 'half ', 'whole');
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, other.app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  t.true(await other.app.interruptSession(inTenant(1), String(id)));
  t.like(replyOf(await subscriber.until('the reply', isReply)), { text: 'half ', interrupted: true });
});

for (const from of ['the same', 'another'] as const) {
  test(`ending a session from ${from} replica keeps the partial reply, fails queued messages and publishes its status last`, async (t) => {
    const { app, agent, published, replica, database } = await sessionMesh(t);
    const other = from === 'the same' ? app : (await replica()).app;
    const gate = createGate();
    agent.script = gatedReply(gate, 'Well, ', 'never');
    const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
    const subscriber = subscribe(t, app, id, { after });
    for (const text of ['one', 'two', 'three']) {
      await app.sendMessage(inTenant(1), { sessionId: id, text, clientTurnId: text });
    }
    gate.release();
    await subscriber.until('the first chunk', isChunk);

    const ended = await other.endSession(inTenant(1), String(id));
    t.is(ended.status, 'ENDED');
    t.truthy(ended.endedAt);
    await subscriber.until('the status', isStatus);
    const kinds = subscriber.events.filter((event) => !isChunk(event)).map(({ kind }) => kind?.$case);
    t.deepEqual(kinds, ['aiResponse', 'turnFailed', 'turnFailed', 'sessionStatusChanged']);
    t.like(replyOf(subscriber.events.filter(isReply)[0] ?? t.fail()), {
      text: 'Well, ',
      interrupted: true,
      clientTurnId: 'one',
    });
    t.like(subscriber.events.filter(isFailure).map(failureOf), [
      { code: 'SESSION_ENDED', clientTurnId: 'two', turnIndex: 1 },
      { code: 'SESSION_ENDED', clientTurnId: 'three', turnIndex: 2 },
    ]);
    const { messages } = await app.getTranscript(inTenant(1), id);
    t.deepEqual(
      messages.map(({ text }) => text),
      ['one', 'two', 'three', 'Well, '],
    );
    t.is(agent.calls.length, 1);

    await eventually('the event', () => published.length > 0);
    t.like(SessionEnded.decode(published[0]?.data ?? new Uint8Array()), { sessionId: id, agentId: 1, status: 'ENDED' });
    t.like(published[0], { type: 'session.ended.v1', key: String(id), tenantId: 1 });
    const again = await app.endSession(inTenant(1), String(id));
    t.deepEqual(again, await other.endSession(inTenant(1), String(id)));
    t.is(again.updatedAt.getTime(), ended.updatedAt.getTime());
    const left = await database.transactShared(({ knex }) => knex('jobs').count().first());
    t.is(Number(left?.count), 0);
  });
}

test('concurrent ends of a session end it once', async (t) => {
  const { app, agent, published, replica } = await sessionMesh(t);
  const { app: other } = await replica();
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  const ends = await Promise.all([app, other, app, other].map((each) => each.endSession(inTenant(1), String(id))));
  t.deepEqual(
    ends.map(({ status }) => status),
    ['ENDED', 'ENDED', 'ENDED', 'ENDED'],
  );
  await subscriber.until('ACTIVE, then ENDED', isStatus, 2);
  await eventually('the event', () => published.length > 0);

  const next = await app.startSession(inTenant(1), start);
  await app.endSession(inTenant(1), String(next.id));
  await eventually('the other session has ended as well', () => published.some(({ key }) => key === String(next.id)));
  t.is(published.filter(({ key }) => key === String(id)).length, 1);
  t.is(subscriber.events.filter(isStatus).length, 2);
});

test('an ended session refuses messages and interrupts', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  await app.endSession(inTenant(1), String(id));
  const refused = { kind: 'invalid', message: `Session ${id} is not active (status: ENDED)` };
  t.like(await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' })), refused);
  t.like(await t.throwsAsync(app.interruptSession(inTenant(1), String(id))), refused);
  t.like(await app.findSession(inTenant(1), id), { interruptCount: 0 });
});

test('a message beyond the queue limit is refused and not stored', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'yes');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after });
  const send = () => app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  for (let sent = 0; sent < 101; sent += 1) await send();
  t.like(await t.throwsAsync(send()), { kind: 'tooManyRequests' });
  t.is((await app.getTranscript(inTenant(1), id)).messages.length, 101);

  gate.open();
  await subscriber.until('all that were taken are answered', isReply, 101);
  await send();
  await subscriber.until('one more', isReply, 102);
  const { messages } = await app.getTranscript(inTenant(1), id);
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    Array.from({ length: 204 }, (_, n) => n),
  );
});

test("turns beyond a tenant's limit wait, those of another tenant do not", async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURNS_PER_TENANT: '2' } });
  const gate = createGate();
  agent.script = gatedReply(gate, 'yes');
  const asked = () => agent.calls.map((call) => call.asked);
  const sessions = await Promise.all([1, 2, 3].map(() => app.startSession(inTenant(1), start)));
  const subscribers = sessions.map(({ id, lastEventId: after }) => subscribe(t, app, id, { after }));
  for (const { id } of sessions) await app.sendMessage(inTenant(1), { sessionId: id, text: 'of one' });
  const other = await app.startSession(inTenant(2), { ...start, agentId: foreignAgentId });
  await app.sendMessage(inTenant(2), { sessionId: other.id, text: 'of another' });
  await eventually("the other tenant's turn runs", () => asked().includes('of another'));
  t.deepEqual(asked(), ['of one', 'of one', 'of another']);
  gate.open();
  await Promise.all(subscribers.map((subscriber) => subscriber.until('the reply', isReply)));
  t.is(agent.calls.length, 4);
});

test('a session idle for a day expires and is evaluated like an ended one', async (t) => {
  let offsetMs = 0;
  const { app, published, agent } = await sessionMesh(t, { clockOffsetMs: () => offsetMs });
  const idle = await app.startSession(inTenant(1), start);
  const active = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, idle.id, { after: idle.lastEventId });
  const hours = 60 * 60_000;

  offsetMs = 23 * hours;
  await app.sendMessage(inTenant(1), { sessionId: active.id, text: 'still here' });
  await eventually('the answer', () => agent.calls[0]?.end === 'finished');
  offsetMs = 25 * hours;
  await subscriber.until('the status', isStatus);
  t.like(subscriber.events.at(-1)?.kind?.value, { status: 'EXPIRED' });
  await eventually('the event', () => published.length === 1);
  t.like(SessionEnded.decode(published[0]?.data ?? new Uint8Array()), { sessionId: idle.id, status: 'EXPIRED' });
  t.is((await app.findSession(inTenant(1), active.id))?.status, 'ACTIVE');
  const error = await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: idle.id, text: 'hello?' }));
  t.is(error.message, `Session ${idle.id} is not active (status: EXPIRED)`);

  offsetMs = 49 * hours;
  await eventually('the other one expires a day after its last event', () => published.length === 2);
});

test('a session of thirty days expires although it is active', async (t) => {
  let offsetMs = 0;
  const { app, published } = await sessionMesh(t, {
    clockOffsetMs: () => offsetMs,
    env: { SESSION_IDLE_HOURS: '10000' },
  });
  await app.startSession(inTenant(1), start);
  offsetMs = 20 * 24 * 60 * 60_000 + 1000;
  const { id } = await app.startSession(inTenant(1), start);
  offsetMs = 31 * 24 * 60 * 60_000;
  await eventually('one has expired', () => published.length === 1);
  t.is((await app.findSession(inTenant(1), id))?.status, 'ACTIVE');
});

test('a failed turn ends once, with a failure code, and stores only text that was shown', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURN_TIMEOUT_MS: '2000' } });
  const { DomainError, unavailable } = await import('@parley/kernel/errors');
  const { text } = await import('./scripted-agent.ts');
  const gate = createGate();
  const failures = [
    {
      isStarted: false,
      error: new DomainError('unavailable', 'no model', { reason: 'MODEL_UNAVAILABLE' }),
      code: 'MODEL_UNAVAILABLE',
    },
    { isStarted: true, error: new DomainError('internal', 'cut', { reason: 'MODEL_FAILED' }), code: 'MODEL_FAILED' },
    { isStarted: true, error: unavailable('gone'), code: 'MODEL_FAILED' },
    { isStarted: false, error: new Error('a bug'), code: 'INTERNAL' },
    { isStarted: true, error: null, code: 'MODEL_FAILED' },
    { isStarted: true, error: undefined, code: 'TURN_TIMEOUT' },
    { isStarted: false, error: undefined, code: 'MODEL_UNAVAILABLE' }, // the model was not called
  ];
  for (const { isStarted, error, code } of failures) {
    agent.script = async function* (call) {
      if (isStarted) yield text('partly');
      if (error) throw error;
      if (error === null) return; // ends the stream without the final usage
      const { waitForGate } = await import('./scripted-agent.ts');
      await waitForGate(gate, call);
    };
    const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
    const subscriber = subscribe(t, app, id, { after });
    await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello', clientTurnId: code });
    const event = await subscriber.until(code, isTurnEnd);
    t.like(failureOf(event), { code, clientTurnId: code, turnIndex: 0 }, code);
    t.is(isStarted ? joinedChunks(subscriber.events, 0) : 'partly', 'partly');
    const { messages } = await app.getTranscript(inTenant(1), id);
    t.deepEqual(
      messages.slice(1).map((message) => message.text),
      isStarted ? ['partly'] : [],
    );
  }
});

test("waiting for the model does not count against the reply's time limit", async (t) => {
  const limitMs = 3_000;
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURN_TIMEOUT_MS: String(limitMs) } });
  async function fillNearlyToLimit() {
    const fromMs = performance.now();
    await eventually('most of the limit has gone by', () => performance.now() - fromMs > 0.6 * limitMs);
  }
  agent.script = async function* () {
    await fillNearlyToLimit();
    yield used({ tokensIn: 7, contextTokens: 7 });
    await fillNearlyToLimit();
    yield text('in time');
    yield finished();
  };
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  t.like(replyOf(await subscriber.until('the end', isTurnEnd)), { text: 'in time', interrupted: false });
});

test('a turn that times out while it waits to ask its model again fails as MODEL_UNAVAILABLE, not TURN_TIMEOUT', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURN_TIMEOUT_MS: '700' } });
  const never = createGate();
  agent.script = async function* (call) {
    if (agent.calls.length === 1) {
      yield used({ tokensIn: 7, contextTokens: 7 });
      throw unavailable('This replica is stopping');
    }
    await waitForGate(never, call);
  };
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  t.is(failureOf(await subscriber.until('the end', isTurnEnd)).code, 'MODEL_UNAVAILABLE');
  t.is(agent.calls.length, 2);
});
