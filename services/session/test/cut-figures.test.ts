import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { asking, createGate, held, text } from './scripted-agent.ts';
import { inTenant, isChunk, isReply, sessionMesh, watch } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const owner = inTenant(1);

test('a cut reply costs what the agent has sent, and that is then the last context', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* (call) {
    yield asking(378);
    yield text('half a 👋👋');
    await held(createGate(), call);
  };
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const watching = watch(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await watching.until('the first piece', isChunk);
  await app.interruptSession(owner, String(id));
  await watching.until('the reply', isReply);

  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages[1], { text: 'half a 👋👋', tokensIn: 378, tokensOut: 3, costUsd: 0 });
  t.is(session.totalTokensInContext, 378);
});

test('a reply cut before a model was asked costs nothing, and the last context is the one before', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(owner, start);
  const watching = watch(t, app, id, { after });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await watching.until('the first reply', isReply);

  agent.script = async function* (call) {
    await held(createGate(), call);
    yield asking(378);
  };
  await app.sendMessage(owner, { sessionId: id, text: 'and?' });
  await eventually('the call', () => agent.calls.length === 2);
  await app.interruptSession(owner, String(id));
  await watching.until('the second reply', isReply, 2);

  const { session, messages } = await app.getTranscript(owner, id);
  t.like(messages.at(-1), { role: 'MODEL', text: '', tokensIn: 0, tokensOut: 0 });
  t.is(session.totalTokensInContext, 25);
});

for (const how of ['the end of its session', 'its last attempt'] as const) {
  test(`a reply that ${how} cuts in the place of a lost process is estimated from its history`, async (t) => {
    const { agent, eventLog, database, replica, unit } = await sessionMesh(t);
    await unit.stop(); // only the one that dies and the one that comes after it
    const dyingDatabase = await replicaOf(t, database, sessionSchema);
    const dying = await replica({ eventLog, database: dyingDatabase });
    agent.script = async function* (call) {
      yield asking(378);
      yield text('half ');
      await held(createGate(), call);
    };
    const { id, lastEventId: after } = await dying.app.startSession(owner, start);
    const watching = watch(t, dying.app, id, { after });
    await dying.app.sendMessage(owner, { sessionId: id, text: 'hello' });
    await watching.until('the first piece', isChunk);
    await dyingDatabase.close();

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
    // Read anew: session and messages are two statements, and the reply may be committed between them.
    const { session, messages } = await app.getTranscript(owner, id);
    // `hello`, rounded up, and what a message takes beside its text
    t.like(messages[1], { text: 'half ', tokensIn: 6, tokensOut: 2 });
    t.is(session.totalTokensInContext, 6);
  });
}
