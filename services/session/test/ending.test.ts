import { unavailable } from '@parley/kernel/errors';
import { SessionEnded } from '@parley/protos/parley/session/v1/events';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { anotherTenants, asking, createGate, finished, gatedReply, held, text } from './scripted-agent.ts';
import {
  failureIn,
  inTenant,
  isChunk,
  isEnd,
  isFailure,
  isReply,
  isStatus,
  joinedChunks,
  replyIn,
  sessionMesh,
  watch,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

test('an interrupt keeps what was said, cancels the call of the agent, and the next message is answered', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'Once upon ', 'a time');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'a story', clientTurnId: 'story' });
  gate.release();
  await watching.until('the first piece', isChunk);

  t.true(await app.interruptSession(inTenant(1), String(id)));
  const reply = replyIn(await watching.until('the reply', isReply));
  t.deepEqual(reply, { text: 'Once upon ', interrupted: true, turnIndex: 0, clientTurnId: 'story', rowIndex: 1 });
  await eventually('the agent sees its call cancelled', () => agent.calls[0]?.end === 'cancelled');

  gate.open();
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'go on' });
  await watching.until('the second reply', isReply, 2);
  t.deepEqual(
    agent.calls[1]?.request.history.map(({ text }) => text),
    ['a story', 'Once upon ', 'go on'],
  );
});

test('an interrupt of a reply that has not begun keeps an empty one; where nothing runs it only counts', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  t.false(await app.interruptSession(inTenant(1), String(id)));

  agent.script = gatedReply(createGate());
  const watching = watch(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  t.true(await app.interruptSession(inTenant(1), String(id)));
  t.like(replyIn(await watching.until('the reply', isReply)), { text: '', interrupted: true });
  t.is((await app.findSession(inTenant(1), id))?.interruptCount, 2);
});

test('five interrupts of one reply cut it once, and all of them count', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  const other = await replica();
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  agent.script = gatedReply(createGate());
  const watching = watch(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await eventually('the call', () => agent.calls.length === 1);
  const cut = await Promise.all(
    [app, other.app, app, other.app, app].map((each) => each.interruptSession(inTenant(1), String(id))),
  );
  t.is(cut.filter(Boolean).length, 1);
  t.is((await app.findSession(inTenant(1), id))?.interruptCount, 5);
  t.like(replyIn(await watching.until('the reply', isReply)), { interrupted: true });

  await app.sendMessage(inTenant(1), { sessionId: id, text: 'again' });
  await eventually('the next call', () => agent.calls.length === 2);
  t.true(await app.interruptSession(inTenant(1), String(id)), 'the next reply is another one');
});

test('a turn is interrupted from another replica', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  const other = await replica();
  const gate = createGate();
  agent.script = gatedReply(gate, 'half ', 'whole');
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, other.app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await watching.until('the first piece', isChunk);
  t.true(await other.app.interruptSession(inTenant(1), String(id)));
  t.like(replyIn(await watching.until('the reply', isReply)), { text: 'half ', interrupted: true });
});

for (const from of ['the same', 'another'] as const) {
  test(`the end of a session from ${from} replica keeps the cut reply, fails what waits, and is told last`, async (t) => {
    const { app, agent, published, replica, database } = await sessionMesh(t);
    const other = from === 'the same' ? app : (await replica()).app;
    const gate = createGate();
    agent.script = gatedReply(gate, 'Well, ', 'never');
    const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
    const watching = watch(t, app, id, { after });
    for (const text of ['one', 'two', 'three']) {
      await app.sendMessage(inTenant(1), { sessionId: id, text, clientTurnId: text });
    }
    gate.release();
    await watching.until('the first piece', isChunk);

    const ended = await other.endSession(inTenant(1), String(id));
    t.is(ended.status, 'ENDED');
    t.truthy(ended.endedAt);
    await watching.until('the status', isStatus);
    const kinds = watching.events.filter((event) => !isChunk(event)).map(({ kind }) => kind?.$case);
    t.deepEqual(kinds, ['aiResponse', 'turnFailed', 'turnFailed', 'sessionStatusChanged']);
    t.like(replyIn(watching.events.filter(isReply)[0] ?? t.fail()), {
      text: 'Well, ',
      interrupted: true,
      clientTurnId: 'one',
    });
    t.like(watching.events.filter(isFailure).map(failureIn), [
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

test('two ends at once are one end', async (t) => {
  const { app, agent, published, replica } = await sessionMesh(t);
  const { app: other } = await replica();
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  gate.release();
  await watching.until('the first piece', isChunk);
  const ends = await Promise.all([app, other, app, other].map((each) => each.endSession(inTenant(1), String(id))));
  t.deepEqual(
    ends.map(({ status }) => status),
    ['ENDED', 'ENDED', 'ENDED', 'ENDED'],
  );
  await watching.until('ACTIVE, then ENDED', isStatus, 2);
  await eventually('the event', () => published.length > 0);

  const next = await app.startSession(inTenant(1), start);
  await app.endSession(inTenant(1), String(next.id));
  await eventually('the other session has ended as well', () => published.some(({ key }) => key === String(next.id)));
  t.is(published.filter(({ key }) => key === String(id)).length, 1);
  t.is(watching.events.filter(isStatus).length, 2);
});

test('an ended session takes no messages and no interrupts', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  await app.endSession(inTenant(1), String(id));
  const refused = { kind: 'invalid', message: `Session ${id} is not active (status: ENDED)` };
  t.like(await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' })), refused);
  t.like(await t.throwsAsync(app.interruptSession(inTenant(1), String(id))), refused);
  t.like(await app.findSession(inTenant(1), id), { interruptCount: 0 });
});

test('a message more than may wait is refused and stores nothing', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'yes');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after });
  const send = () => app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  for (let sent = 0; sent < 101; sent += 1) await send();
  t.like(await t.throwsAsync(send()), { kind: 'tooManyRequests' });
  t.is((await app.getTranscript(inTenant(1), id)).messages.length, 101);

  gate.open();
  await watching.until('all that were taken are answered', isReply, 101);
  await send();
  await watching.until('one more', isReply, 102);
  const { messages } = await app.getTranscript(inTenant(1), id);
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    Array.from({ length: 204 }, (_, n) => n),
  );
});

test('turns beyond the limit of a tenant wait, those of another tenant do not', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURNS_PER_TENANT: '2' } });
  const gate = createGate();
  agent.script = gatedReply(gate, 'yes');
  const asked = () => agent.calls.map((call) => call.asked);
  const sessions = await Promise.all([1, 2, 3].map(() => app.startSession(inTenant(1), start)));
  const watchers = sessions.map(({ id, lastEventId: after }) => watch(t, app, id, { after }));
  for (const { id } of sessions) await app.sendMessage(inTenant(1), { sessionId: id, text: 'of one' });
  const other = await app.startSession(inTenant(2), { ...start, agentId: anotherTenants });
  await app.sendMessage(inTenant(2), { sessionId: other.id, text: 'of another' });
  await eventually("the other tenant's turn runs", () => asked().includes('of another'));
  t.deepEqual(asked(), ['of one', 'of one', 'of another']);
  gate.open();
  await Promise.all(watchers.map((watching) => watching.until('the reply', isReply)));
  t.is(agent.calls.length, 4);
});

test('a session without an event for a day expires, and is evaluated like an ended one', async (t) => {
  let offsetMs = 0;
  const { app, published, agent } = await sessionMesh(t, { clockOffsetMs: () => offsetMs });
  const idle = await app.startSession(inTenant(1), start);
  const lively = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, idle.id, { after: idle.lastEventId });
  const hours = 60 * 60_000;

  offsetMs = 23 * hours;
  await app.sendMessage(inTenant(1), { sessionId: lively.id, text: 'still here' });
  await eventually('the answer', () => agent.calls[0]?.end === 'finished');
  offsetMs = 25 * hours;
  await watching.until('the status', isStatus);
  t.like(watching.events.at(-1)?.kind?.value, { status: 'EXPIRED' });
  await eventually('the event', () => published.length === 1);
  t.like(SessionEnded.decode(published[0]?.data ?? new Uint8Array()), { sessionId: idle.id, status: 'EXPIRED' });
  t.is((await app.findSession(inTenant(1), lively.id))?.status, 'ACTIVE');
  const error = await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: idle.id, text: 'hello?' }));
  t.is(error.message, `Session ${idle.id} is not active (status: EXPIRED)`);

  offsetMs = 49 * hours;
  await eventually('the other one expires a day after its last event', () => published.length === 2);
});

test('a session of thirty days expires however lively it is', async (t) => {
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

test('what fails ends its turn once, with a code that says why, and without a reply', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURN_TIMEOUT_MS: '2000' } });
  const { DomainError, unavailable } = await import('@parley/kernel/errors');
  const { text } = await import('./scripted-agent.ts');
  const gate = createGate();
  const failures = [
    {
      begins: false,
      error: new DomainError('unavailable', 'no model', { reason: 'MODEL_UNAVAILABLE' }),
      code: 'MODEL_UNAVAILABLE',
    },
    { begins: true, error: new DomainError('internal', 'cut', { reason: 'MODEL_FAILED' }), code: 'MODEL_FAILED' },
    { begins: true, error: unavailable('gone'), code: 'MODEL_FAILED' },
    { begins: false, error: new Error('a bug'), code: 'INTERNAL' },
    { begins: true, error: null, code: 'MODEL_FAILED' },
    { begins: true, error: undefined, code: 'TURN_TIMEOUT' },
    { begins: false, error: undefined, code: 'MODEL_UNAVAILABLE' }, // nobody has asked a model all that time
  ];
  for (const { begins, error, code } of failures) {
    agent.script = async function* (call) {
      if (begins) yield text('partly');
      if (error) throw error;
      if (error === null) return; // without the figures that end a reply
      const { held } = await import('./scripted-agent.ts');
      await held(gate, call);
    };
    const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
    const watching = watch(t, app, id, { after });
    await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello', clientTurnId: code });
    const event = await watching.until(code, isEnd);
    t.like(failureIn(event), { code, clientTurnId: code, turnIndex: 0 }, code);
    t.is(begins ? joinedChunks(watching.events, 0) : 'partly', 'partly');
    t.is((await app.getTranscript(inTenant(1), id)).messages.length, 1);
  }
});

test('what a turn waits until its model is asked is not taken from the time that its reply may take', async (t) => {
  const limitMs = 3_000;
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURN_TIMEOUT_MS: String(limitMs) } });
  /** Resolves when the greater part of the limit has gone by. */
  async function mostOfIt() {
    const fromMs = performance.now();
    await eventually('most of the limit has gone by', () => performance.now() - fromMs > 0.6 * limitMs);
  }
  agent.script = async function* () {
    await mostOfIt();
    yield asking(7);
    await mostOfIt();
    yield text('in time');
    yield finished();
  };
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  t.like(replyIn(await watching.until('the end', isEnd)), { text: 'in time', interrupted: false });
});

test('a turn whose model was asked in vain and is not asked again in time was not too slow: no model was there', async (t) => {
  const { app, agent } = await sessionMesh(t, { env: { SESSION_TURN_TIMEOUT_MS: '700' } });
  const never = createGate();
  agent.script = async function* (call) {
    if (agent.calls.length === 1) {
      yield asking(7);
      throw unavailable('This replica is stopping');
    }
    await held(never, call);
  };
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  t.is(failureIn(await watching.until('the end', isEnd)).code, 'MODEL_UNAVAILABLE');
  t.is(agent.calls.length, 2);
});
