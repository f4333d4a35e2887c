import { agentSchema } from '@parley/agent/schema';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import {
  converse,
  createAgent,
  endSession,
  follow,
  readSession,
  sendMessage,
  startSession,
} from '../src/conversation.ts';
import { idsOf } from '../src/credentials.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);

story(
  'an agent with a workflow does not send its greeting, and sends it again after the workflow is detached',
  async (t, mesh) => {
    const { person, database } = mesh;
    const ada = await person();
    const { tenantId } = await idsOf(ada);
    const [workflow] = await database(agentSchema).transact(tenantId, ({ knex }) =>
      knex('workflows').insert({ tenant_id: tenantId, name: 'Intake' }).returning('id'),
    );
    const agentId = await createAgent(ada, { openingGreeting: 'Hello there.' });
    const attach =
      'mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { workflowId } }';
    t.deepEqual(await ada.query(attach, { id: agentId, input: { workflowId: workflow.id } }), {
      updateAgent: { workflowId: workflow.id },
    });

    const silent = await startSession(ada, agentId);
    t.deepEqual(silent.messages, []);
    const events = follow(t, ada, silent.id);
    await sendMessage(ada, silent.id, 'Is anybody there?');
    t.like(await events.turns(1), [{ __typename: 'TurnFailedEvent', turnIndex: 0, code: 'WORKFLOW_NOT_PUBLISHED' }]);
    t.false(
      events.all.some(({ __typename }) => __typename === 'AiResponseEvent'),
      'no greeting among the events',
    );

    await ada.query(attach, { id: agentId, input: { workflowId: null } });
    const greeted = await startSession(ada, agentId);
    t.like(greeted.messages, [{ role: 'MODEL', text: 'Hello there.', turnIndex: 0 }]);
  },
);

story('a hundred messages may wait behind a running turn; the next one is refused and not stored', async (t, mesh) => {
  const ada = await mesh.person();
  mesh.model.answer('I keep the model busy.', { beforeHeaders: createGate() });
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'I keep the model busy.');
  const { server, requestsFor } = mesh.model;
  await server.until(() => requestsFor('I keep the model busy.').length === 1);
  for (let n = 0; n < 100; n += 1) await sendMessage(ada, sessionId, `I wait as number ${n}.`, `turn ${n}`);

  const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
  const refused = await ada.refusal(send, { input: { sessionId, text: 'One too many.' } });
  t.like(refused.extensions, { code: 'TOO_MANY_REQUESTS', statusCode: 429 });
  const { messages } = await readSession(ada, sessionId);
  t.is(messages.length, 101);
  t.is(messages.at(-1)?.text, 'I wait as number 99.');

  // Each waiting turn fails once, and the running turn keeps its partial reply.
  await endSession(ada, sessionId);
  await events.sessionEnded();
  t.is(events.failures.filter(({ code }) => code === 'SESSION_ENDED').length, 100);
  t.is(new Set(events.failures.map(({ clientTurnId }) => clientTurnId)).size, 100);
  t.is(events.replies.length, 1);
});
