import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { citationOf, cited, createGate, finished, text, waitForGate } from './scripted-agent.ts';
import { inTenant, isChunk, isReply, sessionMesh, subscribe } from './session-mesh.ts';
import { sessionUnit } from './session-unit.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const owner = inTenant(1);

test('the passages of a reply are stored with the message, and are in its event and in a replay from the database', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  agent.script = async function* () {
    yield cited('replaced.md');
    yield cited('a.md', 'b.md');
    yield text('Re');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const live = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  const event = await live.until('the reply', isReply);

  const citations = [citationOf('a.md'), citationOf('b.md')];
  t.deepEqual(event.kind?.$case === 'aiResponse' && event.kind.value.message?.citations, { citations });
  const [asked, replied] = (await app.getTranscript(owner, id)).messages;
  t.deepEqual([asked?.citations, replied?.citations], [null, citations]);

  const { app: other } = await replica({ eventLog: memoryEventLog() });
  const replayed = await subscribe(t, other, id, { after: '0' }).until('the replayed reply', isReply);
  t.deepEqual(replayed.kind, event.kind);
});

test('citations are null without a search, and an empty list if the search found nothing', async (t) => {
  const { agent, graph } = await sessionUnit(t);
  agent.script = async function* ({ asked }) {
    if (asked === 'search') yield cited();
    yield text('Re');
    yield finished();
  };
  const ask = async (document: string, variables: object = {}) => {
    const { data, errors } = await graph(owner, document, variables);
    t.is(errors, undefined);
    return data as { startSession: { id: number }; session: { messages: object[] } };
  };
  const { startSession } = await ask('mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }', {
    input: start,
  });
  const say = (said: string) =>
    ask('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }', {
      input: { sessionId: startSession.id, text: said },
    });
  const messages = async () => {
    const fields = 'citations { documentId documentName chunkIndex score preview }';
    const read = await ask(`query ($id: ID!) { session(id: $id) { messages { ${fields} } } }`, { id: startSession.id });
    return read.session.messages;
  };
  await say('no search');
  await eventually('the first reply', async () => (await messages()).length === 2);
  await say('search');
  await eventually('the second reply', async () => (await messages()).length === 4);
  agent.script = async function* () {
    yield cited('a.md');
    yield text('Re');
    yield finished();
  };
  await say('found');
  await eventually('the third reply', async () => (await messages()).length === 6);
  t.deepEqual(await messages(), [
    { citations: null },
    { citations: null },
    { citations: null },
    { citations: [] },
    { citations: null },
    { citations: [citationOf('a.md')] },
  ]);
});

test('an interrupted reply keeps its passages and its usage', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* (call) {
    yield cited('a.md');
    yield text('half', { tokensIn: 100, tokensOut: 10, costUsdE8: 6_800n, contextTokens: 60 });
    await waitForGate(createGate(), call);
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await app.interruptSession(owner, String(id));
  await subscriber.until('the reply', isReply);
  const { messages, session } = await app.getTranscript(owner, id);
  t.like(messages[1], { text: 'half', citations: [citationOf('a.md')], tokensIn: 100, tokensOut: 10 });
  t.is(messages[1]?.costUsd, 0.000068);
  t.is(session.totalTokensInContext, 60);
});

test('a higher attempt replaces the passages of the previous attempt', async (t) => {
  const { agent, database, replica, unit, eventLog } = await sessionMesh(t);
  await unit.stop();
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase, eventLog, env: { SESSION_LEASE_MS: '2000' } });
  agent.script = async function* (call) {
    yield cited(agent.calls.length === 1 ? 'first.md' : 'second.md');
    yield text('whole');
    if (agent.calls.length === 1) await waitForGate(createGate(), call);
    yield finished();
  };
  const { id } = await crashing.app.startSession(owner, start);
  const subscriber = subscribe(t, crashing.app, id, { after: '0' });
  await crashing.app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await crashingDatabase.close();

  const { app: successor } = await replica({ eventLog, env: { SESSION_LEASE_MS: '2000' } });
  await eventually('the reply', async () => (await successor.getTranscript(owner, id)).messages.length === 2);
  const { messages } = await successor.getTranscript(owner, id);
  t.like(messages[1], { text: 'whole', citations: [citationOf('second.md')] });
});

test('an interrupted reply keeps its passages if its process has died', async (t) => {
  const { agent, eventLog, database, replica, unit } = await sessionMesh(t);
  await unit.stop();
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ eventLog, database: crashingDatabase });
  agent.script = async function* (call) {
    yield cited('a.md');
    yield text('half ');
    await waitForGate(createGate(), call);
  };
  const { id } = await crashing.app.startSession(owner, start);
  const subscriber = subscribe(t, crashing.app, id, { after: '0' });
  await crashing.app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the first chunk', isChunk);
  await crashingDatabase.close();

  const { app } = await replica({ eventLog });
  await app.endSession(owner, String(id));
  await eventually('the reply', async () => (await app.getTranscript(owner, id)).messages.length === 2);
  t.like((await app.getTranscript(owner, id)).messages[1], { text: 'half ', citations: [citationOf('a.md')] });
});
