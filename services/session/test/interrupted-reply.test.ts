import { DomainError, unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { cited, createGate, finished, text, used, waitForGate } from './scripted-agent.ts';
import { inTenant, isChunk, isReply, replyOf, sessionMesh, subscribe } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const owner = inTenant(1);

test('an interrupted reply has the usage that the agent sent last, and its context becomes the last context size', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* (call) {
    yield used({ tokensIn: 30, tokensOut: 9, costUsdE8: 500n });
    yield used({ tokensIn: 330, tokensOut: 9, costUsdE8: 30_500n, contextTokens: 300, modelId: 'asked' });
    yield text('half ', { tokensIn: 320, tokensOut: 80, costUsdE8: 44_000n, contextTokens: 290, modelId: 'asked' });
    yield text('a 👋👋', { tokensIn: 320, tokensOut: 82, costUsdE8: 44_400n, contextTokens: 290, modelId: 'asked' });
    await waitForGate(createGate(), call);
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('all its text', isChunk, 2);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the reply', isReply);

  const { session, messages } = await app.getTranscript(owner, id);
  const figures = { tokensIn: 320, tokensOut: 82, costUsd: 0.000444, modelId: 'asked' };
  t.like(messages[1], { text: 'half a 👋👋', ...figures });
  t.is(session.totalTokensInContext, 290);
});

test('an interrupted reply keeps what the agent sends after the request to stop', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const model = { contextTokens: 300, modelId: 'asked' };
  agent.script = async function* (call) {
    yield text('half ', { tokensIn: 300, tokensOut: 2, costUsdE8: 30_200n, estimated: true, ...model });
    await waitForGate(createGate(), call).catch(() => undefined);
    yield text('a word', { tokensIn: 300, tokensOut: 4, costUsdE8: 30_400n, estimated: true, ...model });
    yield used({ tokensIn: 311, tokensOut: 7, costUsdE8: 31_900n, estimated: true, ...model });
    call.signal.throwIfAborted();
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  t.like(replyOf(await subscriber.until('the reply', isReply)), { text: 'half a word', interrupted: true });
  t.is(agent.calls[0]?.end, 'stopped');
  const { messages } = await app.getTranscript(owner, id);
  t.like(messages[1], { text: 'half a word', tokensIn: 311, tokensOut: 7, costUsd: 0.000319, finishReason: null });
});

test('an agent that does not stop is cancelled, and the reply received so far is kept', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield text('half', { tokensIn: 300, tokensOut: 1, costUsdE8: 30_200n, contextTokens: 300, modelId: 'asked' });
    await createGate().pass();
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  t.like(replyOf(await subscriber.until('the reply', isReply)), { text: 'half', interrupted: true });
  t.like((await app.getTranscript(owner, id)).messages[1], { tokensIn: 300, tokensOut: 1 });
});

for (const end of ['finished', 'interrupted'] as const) {
  test(`a reply that is ${end} includes the usage of agent calls that were lost without text`, async (t) => {
    const { app, agent } = await sessionMesh(t);
    agent.script = async function* (call) {
      if (agent.calls.length < 3) yield used({ tokensIn: 40, tokensOut: 9, costUsdE8: 700n });
      if (agent.calls.length === 1) {
        yield used({ tokensIn: 330, tokensOut: 79, costUsdE8: 43_700n, contextTokens: 290, modelId: 'asked' });
      }
      if (agent.calls.length < 3) throw unavailable('This replica is stopping');
      yield text('half', { tokensIn: 300, tokensOut: 1, costUsdE8: 30_200n, contextTokens: 300, modelId: 'asked' });
      if (end === 'interrupted') await waitForGate(createGate(), call);
      yield finished();
    };
    const { id, lastEventId: after } = await app.startSession(owner, start);
    const subscriber = subscribe(t, app, id, { after });
    await app.sendMessage(owner, { sessionId: id, text: 'hello' });
    await subscriber.until('the first chunk', isChunk);
    if (end === 'interrupted') await app.interruptSession(owner, String(id));
    await subscriber.until('the reply', isReply);

    // Two earlier calls to the agent were lost. The first had 330 input tokens and 79 output tokens, and cost 43,700e-8 USD; the second had
    // 40 input tokens and 9 output tokens, and cost 700e-8 USD.
    const { messages } = await app.getTranscript(owner, id);
    t.is(agent.calls.length, 3);
    t.like(
      messages[1],
      end === 'finished'
        ? { tokensIn: 370 + 20, tokensOut: 88 + 5, costUsd: (44_400 + 150) / 1e8 }
        : { tokensIn: 370 + 300, tokensOut: 88 + 1, costUsd: (44_400 + 30_200) / 1e8 },
    );
  });
}

test('a reply interrupted between model calls keeps the usage so far, and the last context size is unchanged', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first reply', isReply);

  const sent = createGate();
  agent.script = async function* (call) {
    yield used({ tokensIn: 300, costUsdE8: 600n, contextTokens: 300, modelId: 'left' });
    yield { ...cited('a.md'), ...used({ tokensIn: 40, tokensOut: 9, costUsdE8: 700n, modelId: 'left' }) };
    sent.release();
    await waitForGate(createGate(), call);
  };
  await app.sendMessage(owner, { sessionId: id, text: 'and?' });
  await sent.pass();
  await app.interruptSession(owner, String(id));
  await subscriber.until('the second reply', isReply, 2);
  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages.at(-1), { text: '', tokensIn: 40, tokensOut: 9, costUsd: 0.000007, modelId: 'left' });
  t.is(session.totalTokensInContext, 25);
});

test('a reply that fails after its first words keeps them with their cost, and then the turn fails', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield used({ tokensIn: 300, costUsdE8: 600n, contextTokens: 300, modelId: 'asked', estimated: true });
    yield text('half a ', { tokensIn: 300, tokensOut: 9, costUsdE8: 700n, contextTokens: 300, modelId: 'asked' });
    yield used({
      tokensIn: 310,
      tokensOut: 11,
      costUsdE8: 900n,
      contextTokens: 300,
      modelId: 'asked',
      estimated: true,
    });
    throw new DomainError('internal', 'The model failed to answer', { reason: 'MODEL_FAILED' });
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  const failed = await subscriber.until('the failure', ({ kind }) => kind?.$case === 'turnFailed');
  t.like(failed.kind, { value: { code: 'MODEL_FAILED', turnIndex: 0 } });

  agent.script = async function* () {
    yield finished();
  };
  await app.sendMessage(owner, { sessionId: id, text: 'again' });
  await subscriber.until('the next reply', isReply);
  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages[1], {
    role: 'MODEL',
    text: 'half a ',
    turnIndex: 1,
    tokensIn: 310,
    tokensOut: 11,
    costUsd: 0.000009,
  });
  t.like(messages[1], { modelId: 'asked', finishReason: null, tokensEstimated: true });
  t.deepEqual(
    messages.map(({ turnIndex }) => turnIndex),
    [0, 1, 2, 3],
  );
  t.is(session.totalTokensInContext, 25);
  t.deepEqual(
    agent.calls.at(-1)?.request.history.map((said) => said.text),
    ['hello', 'half a ', 'again'],
    'the model sees what the person has seen',
  );
  const ends = subscriber.events.filter(({ kind }) => kind?.$case === 'aiResponse' || kind?.$case === 'turnFailed');
  t.is(ends.length, 2, 'one of each turn');
});

test('a reply that fails before its first word leaves no message', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const message = 'The request is longer than the model takes';
  for (const [reason, said] of [
    ['MODEL_DECLINED', undefined],
    ['MODEL_LIMIT_REACHED', undefined],
    ['MODEL_REQUEST_REFUSED', message],
  ] as const) {
    agent.script = async function* () {
      yield used({ tokensIn: 300, tokensOut: 9, costUsdE8: 600n, contextTokens: 300, modelId: 'asked' });
      throw new DomainError('invalid', message, { reason });
    };
    const { id, lastEventId: after } = await app.startSession(owner, start);
    const subscriber = subscribe(t, app, id, { after });
    await app.sendMessage(owner, { sessionId: id, text: 'hello' });
    const { kind } = await subscriber.until('the failure', (event) => event.kind?.$case === 'turnFailed');
    t.like(kind, { value: { code: reason, ...(said && { message: said }) } });
    t.is((await app.getTranscript(owner, id)).messages.length, 1);
  }
});

test('a reply without any usage fails', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield text('half');
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  const failed = await subscriber.until('the failure', ({ kind }) => kind?.$case === 'turnFailed');
  t.like(failed.kind, { value: { code: 'MODEL_FAILED' } });
});

test('a reply interrupted before a model was asked has no tokens, and the last context size is unchanged', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first reply', isReply);

  agent.script = async function* (call) {
    await waitForGate(createGate(), call);
    yield used({ tokensIn: 378, contextTokens: 378 });
  };
  await app.sendMessage(owner, { sessionId: id, text: 'and?' });
  await eventually('the call', () => agent.calls.length === 2);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the second reply', isReply, 2);

  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages.at(-1), { role: 'MODEL', text: '', tokensIn: 0, tokensOut: 0 });
  t.is(session.totalTokensInContext, 25);
});

for (const how of ['the end of its session', 'its last attempt'] as const) {
  test(`the context of a reply that ${how} completes for a dead process is estimated from its history`, async (t) => {
    const { agent, eventLog, database, replica, unit } = await sessionMesh(t);
    await unit.stop(); // only the replica that dies and its successor remain
    const crashingDatabase = await replicaOf(t, database, sessionSchema);
    const crashing = await replica({ eventLog, database: crashingDatabase });
    agent.script = async function* (call) {
      yield used({ tokensIn: 378, contextTokens: 378 });
      yield text('half ');
      await waitForGate(createGate(), call);
    };
    const { id, lastEventId: after } = await crashing.app.startSession(owner, start);
    const subscriber = subscribe(t, crashing.app, id, { after });
    await crashing.app.sendMessage(owner, { sessionId: id, text: 'hello' });
    await subscriber.until('the first chunk', isChunk);
    await crashingDatabase.close();

    const { app } = await replica({ eventLog });
    if (how === 'the end of its session') await app.endSession(owner, String(id));
    else {
      await app.interruptSession(owner, String(id));
      await database.transactShared(({ knex }) =>
        knex('jobs')
          .where({ kind: 'session.turn' })
          .update({ attempt: 3, lease_until: knex.raw(`parley_now() - interval '1 second'`) }),
      );
    }
    await eventually('the reply', async () => (await app.getTranscript(owner, id)).messages.length === 2);
    // Session and messages are read once more: the wait reads them by two statements, and the reply may be committed in between.
    const { session, messages } = await app.getTranscript(owner, id);
    // The tokens of `hello`, rounded up, plus those of a message's role.
    t.like(messages[1], { text: 'half ', tokensIn: 6, tokensOut: 2 });
    t.is(session.totalTokensInContext, 6);
  });
}
