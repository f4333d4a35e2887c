import { compareEventIds } from '@parley/live/event-log/event-id';
import test from 'ava';
import { eventStore } from '../src/event-store.ts';
import { createGate, finished, gatedReply } from './scripted-agent.ts';
import {
  inTenant,
  isChunk,
  isReply,
  isTurnEnd,
  joinedChunks,
  replyOf,
  sessionMesh,
  subscribe,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

test('a reply is streamed in chunks that join to the stored message', async (t) => {
  const { app } = await sessionMesh(t);
  const session = await app.startSession(inTenant(1), { ...start, metadata: { room: 7 } });
  t.like(session, { status: 'ACTIVE', agentId: 1, clientExternalId: 'visitor', metadata: { room: 7 } });

  const subscriber = subscribe(t, app, session.id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: session.id, text: 'How are you?', clientTurnId: 'mine' });
  const reply = replyOf(await subscriber.until('the reply', isReply));

  t.deepEqual(reply, { text: 'Re: How are you?', interrupted: false, turnIndex: 0, clientTurnId: 'mine', rowIndex: 1 });
  t.is(joinedChunks(subscriber.events, 0), 'Re: How are you?');
  const [messages] = await app.listMessages(inTenant(1), { sessionIds: [session.id], page: {} });
  t.like(messages, [
    { role: 'USER', text: 'How are you?', turnIndex: 0, tokensIn: 0, tokensOut: 0, costUsd: 0, modelId: null },
    {
      role: 'MODEL',
      text: 'Re: How are you?',
      turnIndex: 1,
      tokensIn: 20,
      tokensOut: 5,
      costUsd: 0.0000015,
      modelId: 'script',
    },
  ]);
  t.is((await app.findSession(inTenant(1), session.id))?.totalTokensInContext, 25);
});

test('a reply names the model that wrote it, in the live event and in a replay from the database', async (t) => {
  const { app, agent, database } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  const live = await subscriber.until('the reply', isReply);
  const all = { after: '0-0', upTo: live.eventId, limit: 10 };
  const replayed = await database.transact(1, (db) => eventStore(db).list(id, all));
  for (const event of [live, replayed.at(-1)]) t.like(event, { kind: { value: { message: { modelId: 'script' } } } });

  agent.script = async function* () {
    yield finished('');
  };
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'of an agent service that names none' });
  await subscriber.until('the second reply', isReply, 2);
  const [messages] = await app.listMessages(inTenant(1), { sessionIds: [id], page: {} });
  t.deepEqual(
    messages?.map(({ modelId }) => modelId),
    [null, 'script', null, null],
  );
});

test('ten messages sent at once are answered one after another, in order', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await Promise.all(
    Array.from({ length: 10 }, (_, n) => app.sendMessage(inTenant(1), { sessionId: id, text: `message ${n}` })),
  );
  await subscriber.until('ten replies', isReply, 10);

  const [messages = []] = await app.listMessages(inTenant(1), { sessionIds: [id], page: {} });
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    Array.from({ length: 20 }, (_, n) => n),
  );
  const questions = messages.filter(({ role }) => role === 'USER');
  const replies = subscriber.events.filter(isReply).map(replyOf);
  t.deepEqual(
    replies.map(({ turnIndex, text }) => ({ turnIndex, text })),
    questions.map(({ turnIndex, text }) => ({ turnIndex, text: `Re: ${text}` })),
  );
  // The history that the model gets has no queued messages, and each reply follows its question.
  for (const [n, { request }] of agent.calls.entries()) {
    t.deepEqual(
      request.history.map(({ text }) => text),
      questions.slice(0, n + 1).flatMap(({ text }, m) => (m < n ? [text, `Re: ${text}`] : [text])),
    );
  }
});

test('event ids increase, and every turn ends once', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const subscriber = subscribe(t, app, id, { after: '0' });
  for (const text of ['one', 'two', 'three']) await app.sendMessage(inTenant(1), { sessionId: id, text });
  await subscriber.until('a greeting and three replies', isReply, 4);

  const ids = subscriber.events.map(({ eventId }) => eventId);
  t.deepEqual(ids, ids.toSorted(compareEventIds));
  t.is(new Set(ids).size, ids.length);
  const answered = subscriber.events.filter(isTurnEnd).map((event) => replyOf(event).turnIndex);
  const [messages = []] = await app.listMessages(inTenant(1), { sessionIds: [id], page: {} });
  t.deepEqual(answered, [0, ...messages.filter(({ role }) => role === 'USER').map(({ turnIndex }) => turnIndex)]);
});

test('a session starts with the greeting of its agent, unless the agent has a workflow', async (t) => {
  const { app } = await sessionMesh(t);
  const greeted = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const subscriber = subscribe(t, app, greeted.id, { after: '0' });
  const greeting = replyOf(await subscriber.until('the greeting', isReply));
  t.deepEqual(greeting, {
    text: 'Hello there',
    interrupted: false,
    turnIndex: 0,
    clientTurnId: undefined,
    rowIndex: 0,
  });

  const silent = await app.startSession(inTenant(1), { ...start, agentId: 5 });
  const [[said] = [], other] = await app.listMessages(inTenant(1), { sessionIds: [greeted.id, silent.id], page: {} });
  t.like(said, { role: 'MODEL', text: 'Hello there', turnIndex: 0, costUsd: 0, tokensOut: 0, modelId: null });
  t.deepEqual(other, []);
});

test('text that arrives in one tick is streamed as one chunk', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'first ', 'second ', 'third');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'go' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  t.is(joinedChunks(subscriber.events, 0), 'first ');
  gate.open();
  const reply = replyOf(await subscriber.until('the reply', isReply));
  t.is(reply.text, 'first second third');
  t.is(joinedChunks(subscriber.events, 0), 'first second third');
});

test("a deleted agent or another tenant's is not found, an inactive one is refused", async (t) => {
  const { app } = await sessionMesh(t);
  const startWith = (tenantId: number, agentId: number) =>
    t.throwsAsync(app.startSession(inTenant(tenantId), { ...start, agentId }));
  t.like(await startWith(1, 4), { kind: 'notFound', message: 'Agent 4 not found' });
  t.like(await startWith(1, 99), { kind: 'notFound', message: 'Agent 99 not found' });
  t.like(await startWith(2, 1), { kind: 'notFound', message: 'Agent 1 not found' });
  t.like(await startWith(1, -1), { kind: 'notFound', message: 'Agent -1 not found' });
  t.like(await startWith(1, 3), { kind: 'invalid', message: 'Agent 3 is not active' });
  t.is(await app.countSessions(inTenant(1)), 0);
});

test('a session starts when it is created, to the microsecond', async (t) => {
  const { app, database } = await sessionMesh(t);
  await app.startSession(inTenant(1), start);
  const { rows } = await database.transact(1, ({ knex }) =>
    knex.raw('SELECT count(*) AS apart FROM sessions WHERE started_at <> created_at'),
  );
  t.is(Number(rows[0].apart), 0);
});
