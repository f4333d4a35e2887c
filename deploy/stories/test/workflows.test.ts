import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { createAction, createConnector } from '../src/actions.ts';
import type { Client } from '../src/client.ts';
import { createAgent } from '../src/conversation.ts';
import { pricedProvider, promptOf, usageOf } from '../src/direct-calls.ts';
import { createKnowledgeBase } from '../src/knowledge.ts';
import { stories } from '../src/stories.ts';
import { attachWorkflow, createWorkflow, deleteWorkflow, publishWorkflow, saying } from '../src/workflows.ts';

// allow-name workflow: the ledger's name for such calls.

const story = stories(test);

const readWorkflow = 'query ($id: Int!) { workflow(id: $id) { name draft published publishedVersion publishedAt } }';
const listVersions = 'query ($id: Int!) { workflowVersions(workflowId: $id) { version definition publishedBy } }';
const compare = 'query ($id: Int!) { compareWorkflowVersions(workflowId: $id, from: 1, to: 2) }';
const validate = 'query ($definition: JSON!) { validateWorkflow(definition: $definition) { path message } }';
const setDraft =
  'mutation ($id: Int!, $draft: JSON!) { updateWorkflow(id: $id, input: { draft: $draft }) { draft publishedVersion } }';
const restore =
  'mutation ($id: Int!, $version: Int!) { restoreWorkflowVersion(id: $id, version: $version) { draft published } }';
const attach =
  'mutation ($id: ID!, $workflowId: Int) { updateAgent(id: $id, input: { workflowId: $workflowId }) { workflowId } }';
const remove = 'mutation ($id: Int!) { deleteWorkflow(id: $id) }';
const publish = 'mutation ($id: Int!) { publishWorkflow(id: $id) { publishedVersion } }';
const generate =
  'mutation ($prompt: String!) { aiGenerateWorkflow(input: { prompt: $prompt }) { definition summary costUsd } }';

/** Returns a workflow that searches a knowledge base, then calls an action. */
function asking({ knowledgeBaseId, actionId }: { knowledgeBaseId: number; actionId: number }) {
  return {
    version: 1,
    start: 'think',
    nodes: {
      think: { kind: 'llm', prompt: '{{ message }}', knowledgeBaseId, output: 'thought', next: 'act' },
      act: { kind: 'action', actionId, args: { question: '{{ message }}' }, output: 'done', next: 'say' },
      say: { kind: 'response', text: '{{ variables.thought }}' },
    },
  };
}

story(
  'a workflow can be drafted, validated, published, changed, compared and restored, and not deleted while an agent uses it',
  async (t, mesh) => {
    const ada = await mesh.person();
    const id = await createWorkflow(ada, { draft: saying('{{ variables.unknown }}') });
    const refused = await ada.refusal(publish, { id });
    t.is(refused.extensions.code, 'BAD_REQUEST');
    t.deepEqual(
      refused.extensions.fields?.map(({ path }) => path),
      ['draft.nodes.say.text'],
    );

    t.deepEqual(await ada.value(validate, { definition: saying('Hello.') }), []);
    await ada.query(setDraft, { id, draft: saying('Hello.') });
    t.is(await publishWorkflow(ada, id), 1);
    t.is(await publishWorkflow(ada, id), 1, 'the same draft is no other version');
    t.deepEqual(await ada.value(setDraft, { id, draft: saying('Good day.') }), {
      draft: saying('Good day.'),
      publishedVersion: 1,
    });
    t.is(await publishWorkflow(ada, id), 2);
    const { getAuthProfile } = await ada.query<{ getAuthProfile: { id: number } }>('{ getAuthProfile { id } }');
    t.deepEqual(await ada.value(listVersions, { id }), [
      { version: 2, definition: saying('Good day.'), publishedBy: getAuthProfile.id },
      { version: 1, definition: saying('Hello.'), publishedBy: getAuthProfile.id },
    ]);
    t.deepEqual(await ada.value(compare, { id }), [{ op: 'replace', path: '/nodes/say/text', value: 'Good day.' }]);
    t.deepEqual(await ada.value(restore, { id, version: 1 }), {
      draft: saying('Hello.'),
      published: saying('Good day.'),
    });

    const agentId = await createAgent(ada);
    await attachWorkflow(ada, agentId, id);
    const attached = await ada.refusal(remove, { id });
    t.is(attached.message, `Workflow ${id} is attached to agent ${agentId} (Maya)`);
    t.like(attached.extensions, { code: 'CONFLICT', statusCode: 409 });
    await attachWorkflow(ada, agentId, null);
    await deleteWorkflow(ada, id);
    t.is(await ada.value(readWorkflow, { id }), null);
    t.is((await ada.refusal(attach, { id: agentId, workflowId: id })).extensions.code, 'NOT_FOUND');
  },
);

story('a definition may name only what its tenant has', async (t, mesh) => {
  const [ada, eve] = await Promise.all([mesh.person(), mesh.person()]);
  const things = async (client: Client) => ({
    knowledgeBaseId: await createKnowledgeBase(client),
    actionId: await createAction(client),
  });
  const [own, foreign] = [await things(ada), await things(eve)];
  t.deepEqual(await ada.value(validate, { definition: asking(own) }), []);
  t.deepEqual(await ada.value(validate, { definition: asking(foreign) }), [
    {
      path: 'nodes.think.knowledgeBaseId',
      message: `names the knowledge base ${foreign.knowledgeBaseId}, which is not there`,
    },
    { path: 'nodes.act', message: `names the action ${foreign.actionId}, which is not there` },
  ]);
  const id = await createWorkflow(ada, { draft: asking(own) });
  await ada.query('mutation ($id: Int!) { deleteCustomAction(id: $id) }', { id: own.actionId });
  t.deepEqual((await ada.refusal(publish, { id })).extensions.fields, [
    { path: 'draft.nodes.act', message: `names the action ${own.actionId}, which is not there` },
  ]);
  const tool = { kind: 'tool', connectorId: await createConnector(eve), tool: 'x', args: {}, output: 'o', next: 'say' };
  const definition = { ...saying('Hello.'), start: 'call', nodes: { call: tool, ...saying('Hello.').nodes } };
  t.deepEqual(await ada.value(validate, { definition }), [
    { path: 'nodes.call', message: `names the connector ${tool.connectorId}, which is not there` },
  ]);
});

story(
  'a model writes a definition that names only what the tenant has, and its cost is in the ledger',
  async (t, mesh) => {
    const ada = await mesh.person();
    const own = { knowledgeBaseId: await createKnowledgeBase(ada), actionId: await createAction(ada) };
    // The tenant selects a priced model, because the platform's default costs nothing.
    await ada.query('mutation ($input: UpdateTenantInput!) { updateTenant(input: $input) { id } }', {
      input: { llmProviderOverride: pricedProvider },
    });
    const text = 'Answer from our documents, then call the order service.';
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    mesh.model.answer(text, {
      text: JSON.stringify({ summary: 'Answers and orders.', definition: asking(own) }),
      deltas: 'whole',
      usage,
    });
    const generated = await ada.value<{ definition: object }>(generate, { prompt: promptOf(ada, text) });
    t.deepEqual(generated, { definition: asking(own), summary: 'Answers and orders.', costUsd: 0.0035 } as object);
    const { breakdown, costThisMonthUsd } = await eventually('the call in the summary', async () => {
      const found = await usageOf(ada);
      return found.breakdown.length > 0 ? found : undefined;
    });
    t.deepEqual(breakdown, [{ model: 'gpt-4o', operation: 'workflow', count: 1 }]);
    t.is(costThisMonthUsd, 0.0035);
    t.deepEqual(await ada.value('{ workflows { id } }'), [], 'nothing is saved');
    const id = await createWorkflow(ada, { draft: generated.definition });
    t.is(await publishWorkflow(ada, id), 1);
  },
);

story(
  'a retry with the same Idempotency-Key gets the definition of the first call without another model call',
  async (t, mesh) => {
    const ada = await mesh.person();
    const text = 'Say hello, once.';
    mesh.model.answer(text, { text: JSON.stringify({ summary: '', definition: saying('Hello.') }), deltas: 'whole' });
    const ask = () => ada.send(generate, { prompt: promptOf(ada, text) }, { 'idempotency-key': 'once' });
    const first = await ask();
    t.is(first.errors, undefined);
    t.is((await ask()).text, first.text);
    t.is(mesh.model.requestsFor(text).length, 1);
  },
);
