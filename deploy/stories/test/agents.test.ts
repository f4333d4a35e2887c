import test from 'ava';
import {
  converse,
  createAgent,
  endSession,
  evaluated,
  follow,
  readSession,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

const updateAgent =
  'mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { id name subject status } }';

story('the audit log of an agent shows who changed which field, with the old and the new value', async (t, mesh) => {
  const ada = await mesh.person();
  const id = await createAgent(ada, { subject: 'Queues' });
  const { getAuthProfile } = await ada.query<{ getAuthProfile: { id: number } }>('{ getAuthProfile { id } }');
  const logs = async () => {
    const { agentAuditLogs } = await ada.query<{ agentAuditLogs: Record<string, unknown>[] }>(
      'query ($id: ID!) { agentAuditLogs(id: $id) { auditableType auditableId action userId username changes } }',
      { id },
    );
    return agentAuditLogs;
  };
  t.deepEqual(await logs(), [], 'making an agent is no update');

  await ada.query(updateAgent, { id, input: { name: 'Grace', subject: null } });
  await ada.query(updateAgent, { id, input: { name: 'Grace' } });
  const [log, ...others] = await logs();
  t.deepEqual(others, [], 'an update that changes nothing left a trace');
  t.like(log, { auditableId: id, action: 'UPDATE', userId: getAuthProfile.id, username: 'Ada Lovelace' });
  t.deepEqual(log?.changes, { name: { from: 'Maya', to: 'Grace' }, subject: { from: 'Queues', to: null } });
});

story('null clears nullable fields and is refused for others; omitted fields keep their values', async (t, mesh) => {
  const ada = await mesh.person();
  const id = await createAgent(ada, { subject: 'Queues' });
  t.like(await ada.query(updateAgent, { id, input: { name: 'Grace' } }), {
    updateAgent: { name: 'Grace', subject: 'Queues' },
  });
  t.like(await ada.query(updateAgent, { id, input: { subject: null } }), {
    updateAgent: { name: 'Grace', subject: null },
  });
  for (const field of [
    'name',
    'personaPrompt',
    'position',
    'useCase',
    'voiceTier',
    'status',
    'vadThreshold',
    'avatarBackend',
  ]) {
    t.is((await ada.refusal(updateAgent, { id, input: { [field]: null } })).extensions.code, 'BAD_REQUEST', field);
  }
});

story('an INACTIVE agent starts no session, and running ones continue', async (t, mesh) => {
  const ada = await mesh.person();
  const { agentId, sessionId, events } = await converse(t, ada);
  await ada.query(updateAgent, { id: agentId, input: { status: 'INACTIVE' } });
  t.like(
    await ada.refusal('mutation ($id: Int!) { startSession(input: { agentId: $id, clientExternalId: "c" }) { id } }', {
      id: agentId,
    }),
    { message: `Agent ${agentId} is not active`, extensions: { code: 'BAD_REQUEST' } },
  );
  await sendMessage(ada, sessionId, 'Are you still here?');
  t.is((await events.turns(1))[0]?.__typename, 'AiResponseEvent');
});

story('messages of a deleted agent stay readable, and its running session continues', async (t, mesh) => {
  const ada = await mesh.person();
  const { agentId, sessionId, events } = await converse(t, ada);
  const ended = await startSession(ada, agentId);
  const before = follow(t, ada, ended.id);
  const said = 'I would keep the queue in the database.';
  for (const id of [sessionId, ended.id]) await sendMessage(ada, id, said);
  for (const each of [events, before]) await each.turns(1);
  await endSession(ada, ended.id);
  await evaluated(ada, ended.id);
  const read = { running: await readSession(ada, sessionId), ended: await readSession(ada, ended.id) };
  await ada.query(updateAgent, { id: agentId, input: { name: 'Grace' } });
  t.deepEqual(await ada.query('mutation ($id: ID!) { deleteAgent(id: $id) }', { id: agentId }), { deleteAgent: true });

  t.deepEqual(await ada.query('query ($id: ID!) { agent(id: $id) { id } agents { id } agentCount }', { id: agentId }), {
    agent: null,
    agents: [],
    agentCount: 0,
  });
  const notFound = { message: `Agent ${agentId} not found`, extensions: { code: 'NOT_FOUND' } };
  t.like(await ada.refusal('mutation ($id: ID!) { deleteAgent(id: $id) }', { id: agentId }), notFound);
  t.like(
    await ada.refusal('mutation ($id: Int!) { startSession(input: { agentId: $id, clientExternalId: "c" }) { id } }', {
      id: agentId,
    }),
    notFound,
  );

  const agent = { id: agentId, name: 'Grace' };
  t.deepEqual(await readSession(ada, ended.id), { ...read.ended, agent });
  t.deepEqual(
    read.ended.messages.map(({ role, turnIndex }) => `${turnIndex} ${role}`),
    ['0 USER', '1 MODEL'],
  );
  t.is(read.ended.messages[0]?.text, said);
  await sendMessage(ada, sessionId, 'Are you still here?');
  const [, reply] = await events.turns(2);
  t.is(reply?.__typename, 'AiResponseEvent');
  const { status, messages, ...running } = await readSession(ada, sessionId);
  t.is(status, 'ACTIVE');
  t.deepEqual(running.agent, agent);
  t.deepEqual(messages.slice(0, 2), read.running.messages);
  t.deepEqual(
    messages.slice(2).map(({ text }) => text),
    ['Are you still here?', reply?.__typename === 'AiResponseEvent' ? reply.text : ''],
  );
  await endSession(ada, sessionId);
  t.is((await evaluated(ada, sessionId)).sessionId, sessionId);
  const { sessions, agentAuditLogs, evaluation } = await ada.query<{
    sessions: unknown[];
    agentAuditLogs: unknown[];
    evaluation: unknown;
  }>(
    `query ($agentId: Int!, $id: ID!, $ended: Int!) {
      sessions(agentId: $agentId) { id agent { id name } }
      agentAuditLogs(id: $id) { action }
      evaluation(sessionId: $ended) { sessionId }
    }`,
    { agentId, id: agentId, ended: ended.id },
  );
  t.deepEqual(sessions, [
    { id: ended.id, agent },
    { id: sessionId, agent },
  ]);
  t.deepEqual(agentAuditLogs, [{ action: 'UPDATE' }]);
  t.deepEqual(evaluation, { sessionId: ended.id });
});

story('a list of sessions contains the right agent for each session', async (t, mesh) => {
  const ada = await mesh.person();
  const made: { id: number; agent: { id: number; name: string } }[] = [];
  for (let n = 0; n < 5; n++) {
    const agent = { id: await createAgent(ada, { name: `Agent ${n}` }), name: `Agent ${n}` };
    made.unshift({ id: (await startSession(ada, agent.id)).id, agent });
  }
  t.deepEqual(await ada.query('{ sessions { id agent { id name } } }'), { sessions: made });
});

story('10,000 code points are accepted; a longer text or NUL is refused and not stored', async (t, mesh) => {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  const refused = async (text: string) => {
    const refusal = await ada.refusal('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }', {
      input: { sessionId, text },
    });
    t.is(refusal.extensions.code, 'BAD_REQUEST');
    t.deepEqual(
      refusal.extensions.fields?.map(({ path }) => path),
      ['input.text'],
    );
  };
  await refused('𝒂'.repeat(10_001));
  await refused('a\0b');
  await refused('half a pair: \ud83d');
  await refused(' \n\t ');
  t.deepEqual((await readSession(ada, sessionId)).messages, []);
  await sendMessage(ada, sessionId, '𝒂'.repeat(10_000));
  await events.turns(1);
  t.is((await readSession(ada, sessionId)).messages[0]?.text, '𝒂'.repeat(10_000));
  const metadata = await ada.refusal(
    'mutation ($id: Int!, $metadata: JSON) { startSession(input: { agentId: $id, clientExternalId: "c", metadata: $metadata }) { id } }',
    { id: (await readSession(ada, sessionId)).agentId, metadata: { deep: [{ in: 'a\0b' }] } },
  );
  t.is(metadata.extensions.code, 'BAD_REQUEST');
});
