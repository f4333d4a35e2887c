import { unavailable } from '@parley/kernel/errors';
import type { RunTurnResponse } from '@parley/protos/parley/agent/v1/agent';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { contextSent, createGate, finished, text, waitForGate } from './scripted-agent.ts';
import { inTenant, isChunk, isReply, sessionMesh, subscribe } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const owner = inTenant(1);

test('an interrupted reply names its model, costs what was sent and said, and its context becomes the last context size', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* (call) {
    const perToken = { inputUsdE18: 10n ** 12n, outputUsdE18: 2n * 10n ** 12n };
    yield { event: { $case: 'prices', value: { ...perToken, modelId: 'asked' } } };
    yield contextSent(378);
    yield text('half a 👋👋');
    await waitForGate(createGate(), call);
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the reply', isReply);

  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages[1], { text: 'half a 👋👋', tokensIn: 378, tokensOut: 3, costUsd: 0.000384, modelId: 'asked' });
  t.is(session.totalTokensInContext, 378);
});

test('an interrupted reply counts its prompt and the thoughts of its model as far as the agent has told', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const used = (contextTokens: number, thoughtTokens: number): RunTurnResponse => ({
    event: { $case: 'used', value: { contextTokens, thoughtTokens } },
  });
  const price = { inputUsdE18: 10n ** 12n, outputUsdE18: 2n * 10n ** 12n, modelId: 'asked' };
  agent.script = async function* (call) {
    yield { event: { $case: 'prices', value: price } };
    yield contextSent(300);
    yield used(290, 0);
    yield used(290, 70);
    if (agent.calls.length === 2) {
      const earlier = { tokensIn: 290, tokensOut: 70, costUsdE8: 43_000n };
      yield { event: { $case: 'prices', value: { ...price, earlier } } };
      yield contextSent(301);
    }
    yield text('half');
    await waitForGate(createGate(), call);
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the reply', isReply);
  await app.sendMessage(owner, { sessionId: id, text: 'again' });
  await subscriber.until('the chunk of the second', isChunk, 2);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the second reply', isReply, 2);

  const { messages } = await app.getTranscript(owner, id);
  t.like(messages[1], { tokensIn: 290, tokensOut: 71, costUsd: 0.000432 });
  t.like(
    messages[3],
    { tokensIn: 591, tokensOut: 71, costUsd: 0.000733 },
    'thoughts of a model that was left are earlier usage',
  );
});

for (const end of ['finished', 'interrupted'] as const) {
  test(`a reply that is ${end} counts what calls of the agent took that were lost without text`, async (t) => {
    const { app, agent } = await sessionMesh(t);
    const price = { inputUsdE18: 10n ** 12n, outputUsdE18: 2n * 10n ** 12n, modelId: 'asked' };
    const earlier = { tokensIn: 40, tokensOut: 9, costUsdE8: 700n };
    agent.script = async function* (call) {
      if (agent.calls.length < 3) yield { event: { $case: 'earlier', value: earlier } };
      if (agent.calls.length === 2) throw unavailable('This replica is stopping');
      if (agent.calls.length === 1) yield { event: { $case: 'prices', value: { ...price, earlier } } };
      yield contextSent(300);
      if (agent.calls.length === 1) {
        yield { event: { $case: 'used', value: { contextTokens: 290, thoughtTokens: 70 } } };
        throw unavailable('This replica is stopping');
      }
      yield text('half');
      if (end === 'interrupted') await waitForGate(createGate(), call);
      yield finished();
    };
    const { id, lastEventId: after } = await app.startSession(owner, start);
    const subscriber = subscribe(t, app, id, { after });
    await app.sendMessage(owner, { sessionId: id, text: 'hello' });
    await subscriber.until('the first chunk', isChunk);
    if (end === 'interrupted') await app.interruptSession(owner, String(id));
    await subscriber.until('the reply', isReply);

    // The first call: 40 + 290 and 9 + 70 tokens for 700 + 43,000; the second: 40 and 9 for 700; and that which replied.
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

test('a reply interrupted while no model is asked, after one was left, counts what that took alone', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* (call) {
    yield { event: { $case: 'prices', value: { inputUsdE18: 0n, outputUsdE18: 0n, modelId: 'left' } } };
    yield contextSent(300);
    yield { event: { $case: 'earlier', value: { tokensIn: 40, tokensOut: 9, costUsdE8: 700n } } };
    yield { event: { $case: 'used', value: { contextTokens: 0, thoughtTokens: 0 } } };
    yield text('half'); // shows that what came before has arrived
    await waitForGate(createGate(), call);
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the reply', isReply);
  const { messages } = await app.getTranscript(owner, id);
  // Its own prompt is estimated from the history.
  t.like(messages[1], { tokensIn: 40 + 6, tokensOut: 9 + 1, costUsd: 0.000007 });
});

test('a reply interrupted before a model was asked has no tokens and leaves the last context size', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first reply', isReply);

  agent.script = async function* (call) {
    await waitForGate(createGate(), call);
    yield contextSent(378);
  };
  await app.sendMessage(owner, { sessionId: id, text: 'and?' });
  await eventually('the call', () => agent.calls.length === 2);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the second reply', isReply, 2);

  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages.at(-1), { role: 'MODEL', text: '', tokensIn: 0, tokensOut: 0 });
  t.is(session.totalTokensInContext, 25);
});

test('an interrupted reply counts what its question took, before it is known which model is asked', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* (call) {
    yield { event: { $case: 'earlier', value: { tokensIn: 30, tokensOut: 9, costUsdE8: 500n } } };
    yield { event: { $case: 'earlier', value: { tokensIn: 40, tokensOut: 9, costUsdE8: 700n } } };
    yield text('half'); // shows that what came before has arrived
    await waitForGate(createGate(), call);
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'and those?' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the reply', isReply);
  const { messages } = await app.getTranscript(owner, id);
  t.like(messages[1], { text: 'half', tokensOut: 10, costUsd: 0.000007, modelId: null });
});

for (const how of ['the end of its session', 'its last attempt'] as const) {
  test(`the context of a reply that ${how} completes for a dead process is estimated from its history`, async (t) => {
    const { agent, eventLog, database, replica, unit } = await sessionMesh(t);
    await unit.stop(); // leaves only the replica that dies and its successor
    const crashingDatabase = await replicaOf(t, database, sessionSchema);
    const crashing = await replica({ eventLog, database: crashingDatabase });
    agent.script = async function* (call) {
      yield contextSent(378);
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
    // Read again: session and messages are two statements, and the reply may be committed between them.
    const { session, messages } = await app.getTranscript(owner, id);
    // `hello`, rounded up, and the tokens of a message's role
    t.like(messages[1], { text: 'half ', tokensIn: 6, tokensOut: 2 });
    t.is(session.totalTokensInContext, 6);
  });
}
