import { compareEventIds } from '@parley/live/event-log/event-id';
import test from 'ava';
import { createGate, gatedReply } from './scripted-agent.ts';
import { inTenant, isChunk, isEnd, isReply, joinedChunks, replyIn, sessionMesh, watch } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

test('a message is answered piece by piece, and the pieces joined are the stored reply', async (t) => {
  const { app } = await sessionMesh(t);
  const session = await app.startSession(inTenant(1), { ...start, metadata: { room: 7 } });
  t.like(session, { status: 'ACTIVE', agentId: 1, clientExternalId: 'visitor', metadata: { room: 7 } });

  const watching = watch(t, app, session.id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: session.id, text: 'How are you?', clientTurnId: 'mine' });
  const reply = replyIn(await watching.until('the reply', isReply));

  t.deepEqual(reply, { text: 'Re: How are you?', interrupted: false, turnIndex: 0, clientTurnId: 'mine', rowIndex: 1 });
  t.is(joinedChunks(watching.events, 0), 'Re: How are you?');
  const [messages] = await app.listMessages(inTenant(1), [session.id], {});
  t.like(messages, [
    { role: 'USER', text: 'How are you?', turnIndex: 0, tokensIn: 0, tokensOut: 0, costUsd: 0 },
    { role: 'MODEL', text: 'Re: How are you?', turnIndex: 1, tokensIn: 20, tokensOut: 5, costUsd: 0.0000015 },
  ]);
  t.is((await app.findSession(inTenant(1), session.id))?.totalTokensInContext, 25);
});

test('ten messages sent at once get ten replies, one after another and in order', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  await Promise.all(
    Array.from({ length: 10 }, (_, n) => app.sendMessage(inTenant(1), { sessionId: id, text: `message ${n}` })),
  );
  await watching.until('ten replies', isReply, 10);

  const [messages = []] = await app.listMessages(inTenant(1), [id], {});
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    Array.from({ length: 20 }, (_, n) => n),
  );
  const questions = messages.filter(({ role }) => role === 'USER');
  const replies = watching.events.filter(isReply).map(replyIn);
  t.deepEqual(
    replies.map(({ turnIndex, text }) => ({ turnIndex, text })),
    questions.map(({ turnIndex, text }) => ({ turnIndex, text: `Re: ${text}` })),
  );
  // What was still queued was not shown to the model, and each reply stood behind its question.
  for (const [n, { request }] of agent.calls.entries()) {
    t.deepEqual(
      request.history.map(({ text }) => text),
      questions.slice(0, n + 1).flatMap(({ text }, m) => (m < n ? [text, `Re: ${text}`] : [text])),
    );
  }
});

test('the ids of all events grow, and every turn has one end', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const watching = watch(t, app, id, { after: '0' });
  for (const text of ['one', 'two', 'three']) await app.sendMessage(inTenant(1), { sessionId: id, text });
  await watching.until('a greeting and three replies', isReply, 4);

  const ids = watching.events.map(({ eventId }) => eventId);
  t.deepEqual(ids, ids.toSorted(compareEventIds));
  t.is(new Set(ids).size, ids.length);
  const answered = watching.events.filter(isEnd).map((event) => replyIn(event).turnIndex);
  const [messages = []] = await app.listMessages(inTenant(1), [id], {});
  t.deepEqual(answered, [0, ...messages.filter(({ role }) => role === 'USER').map(({ turnIndex }) => turnIndex)]);
});

test('an agent with a greeting opens with it, one with a workflow keeps silent', async (t) => {
  const { app } = await sessionMesh(t);
  const greeted = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const watching = watch(t, app, greeted.id, { after: '0' });
  const greeting = replyIn(await watching.until('the greeting', isReply));
  t.deepEqual(greeting, {
    text: 'Hello there',
    interrupted: false,
    turnIndex: 0,
    clientTurnId: undefined,
    rowIndex: 0,
  });

  const silent = await app.startSession(inTenant(1), { ...start, agentId: 5 });
  const [[said] = [], other] = await app.listMessages(inTenant(1), [greeted.id, silent.id], {});
  t.like(said, { role: 'MODEL', text: 'Hello there', turnIndex: 0, costUsd: 0, tokensOut: 0 });
  t.deepEqual(other, []);
});

test('text that comes in one tick leaves as one piece', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'first ', 'second ', 'third');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'go' });
  gate.release();
  await watching.until('the first piece', isChunk);
  t.is(joinedChunks(watching.events, 0), 'first ');
  gate.open();
  const reply = replyIn(await watching.until('the reply', isReply));
  t.is(reply.text, 'first second third');
  t.is(joinedChunks(watching.events, 0), 'first second third');
});

test('a deleted or foreign agent is not found, an inactive one is refused', async (t) => {
  const { app } = await sessionMesh(t);
  const begin = (tenantId: number, agentId: number) =>
    t.throwsAsync(app.startSession(inTenant(tenantId), { ...start, agentId }));
  t.like(await begin(1, 4), { kind: 'notFound', message: 'Agent 4 not found' });
  t.like(await begin(1, 99), { kind: 'notFound', message: 'Agent 99 not found' });
  t.like(await begin(2, 1), { kind: 'notFound', message: 'Agent 1 not found' });
  t.like(await begin(1, -1), { kind: 'notFound', message: 'Agent -1 not found' });
  t.like(await begin(1, 3), { kind: 'invalid', message: 'Agent 3 is not active' });
  t.is(await app.countSessions(inTenant(1)), 0);
});
