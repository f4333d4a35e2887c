import test from 'ava';
import { recordExamples } from '../../src/api-examples.ts';
import { follow, sendMessage, startSession } from '../../src/conversation.ts';
import { pricedProvider, promptOf } from '../../src/direct-calls.ts';
import { stories } from '../../src/stories.ts';

const story = stories(test);

const greeting = {
  version: 1,
  start: 'greet',
  variables: { name: 'there' },
  nodes: { greet: { kind: 'response', text: 'Hello {{ variables.name }}.' } },
};
const farewell = { ...greeting, nodes: { greet: { kind: 'response', text: 'Goodbye {{ variables.name }}.' } } };
const usage = { prompt_tokens: 1_000, completion_tokens: 100 };

story('the examples of agent are those on its page', async (t, mesh) => {
  const { send, subscribe, refused, compare } = recordExamples('agent');
  const ada = await mesh.person();
  const server = await ada.withApiKey();

  const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id name status useCase } }';
  const persona = {
    name: 'Robin',
    personaPrompt: 'You are Robin, who answers questions about orders.',
    position: 'Support',
    openingGreeting: 'Hello, I am Robin.',
    useCase: 'SUPPORT',
  };
  const { id } = await send<{ id: number }>(ada, create, { input: persona });
  await refused(ada, create, { input: { ...persona, name: ' ' } });
  await refused(ada, create, { input: { ...persona, knowledgeBaseIds: [900_000_001] } });
  await send(ada, 'query ($id: ID!) { agent(id: $id) { id name personaPrompt tools { tool } } }', { id });
  await send(ada, 'query ($first: Int, $after: Int) { agents(first: $first, after: $after) { id name status } }', {
    first: 10,
  });
  await send(ada, '{ agentCount }');
  const options = `{ agentConfigOptions {
    avatarModels { filename label gender } recommendedTtsVoices { name languageCode tier } ttsVoiceCatalogUrl } }`;
  await send(ada, options);
  await send(
    ada,
    `mutation ($id: ID!, $input: UpdateAgentInput!) {
      updateAgent(id: $id, input: $input) { id position updatedAt } }`,
    { id, input: { position: 'Head of support' } },
  );
  await send(ada, 'query ($id: ID!) { agentAuditLogs(id: $id) { id action username changes createdAt } }', { id });

  const createWorkflow = `mutation ($input: CreateWorkflowInput!) {
    createWorkflow(input: $input) { id name draft publishedVersion } }`;
  const workflow = await send<{ id: number }>(ada, createWorkflow, { input: { name: 'Greeting', draft: greeting } });
  const workflowId = workflow.id;
  const validate = 'query ($definition: JSON!) { validateWorkflow(definition: $definition) { path message } }';
  await send(ada, validate, { definition: { ...greeting, start: 'welcome' } });
  const publish = 'mutation ($id: Int!) { publishWorkflow(id: $id) { id publishedVersion publishedAt } }';
  await send(ada, publish, { id: workflowId });
  const update = `mutation ($id: Int!, $input: UpdateWorkflowInput!) {
    updateWorkflow(id: $id, input: $input) { id draft publishedVersion } }`;
  await send(ada, update, { id: workflowId, input: { draft: farewell } });
  await ada.query(publish, { id: workflowId });
  await send(ada, 'query ($id: Int!) { workflow(id: $id) { id name draft published publishedVersion } }', {
    id: workflowId,
  });
  await send(ada, '{ workflows { id name publishedVersion updatedAt } }');
  const versions = `query ($workflowId: Int!) {
    workflowVersions(workflowId: $workflowId) { version definition publishedAt } }`;
  await send(ada, versions, { workflowId });
  await refused(ada, versions, { workflowId: 900_000_001 });
  const compareVersions = `query ($workflowId: Int!, $from: Int!, $to: Int) {
    compareWorkflowVersions(workflowId: $workflowId, from: $from, to: $to) }`;
  await send(ada, compareVersions, { workflowId, from: 1, to: 2 });
  const restore = `mutation ($id: Int!, $version: Int!) {
    restoreWorkflowVersion(id: $id, version: $version) { id draft publishedVersion } }`;
  await send(ada, restore, { id: workflowId, version: 1 });
  await send(ada, '{ workflowDefinitionSchema }', {}, 2);
  const run = `mutation ($input: RunWorkflowTaskInput!) {
    runWorkflowTask(input: $input) { text variables trace { nodeId kind durationMs output } costUsd } }`;
  await send(ada, run, { input: { workflowId, input: { variables: { name: 'Grace' } } } });

  const attach =
    'mutation ($id: ID!, $workflowId: Int) { updateAgent(id: $id, input: { workflowId: $workflowId }) { id } }';
  await ada.query(attach, { id, workflowId });
  const session = await startSession(ada, id);
  const events = follow(t, ada, session.id);
  await sendMessage(ada, session.id, 'Good evening.');
  await events.turns(1);
  const runs = `query ($sessionId: Int!, $first: Int, $after: Int) {
    workflowRuns(sessionId: $sessionId, first: $first, after: $after) {
      id workflowId version status trace { nodeId kind output } } }`;
  await send(ada, runs, { sessionId: session.id, first: 10 });
  const remove = 'mutation ($id: Int!) { deleteWorkflow(id: $id) }';
  await refused(ada, remove, { id: workflowId });
  await ada.query(attach, { id, workflowId: null });

  // The tenant selects a priced model, because the platform's default has no price in this mesh.
  await ada.query('mutation ($input: UpdateTenantInput!) { updateTenant(input: $input) { id } }', {
    input: { llmProviderOverride: pricedProvider },
  });
  const written = (definition: object, summary: string) =>
    ({ text: JSON.stringify({ summary, definition }), deltas: 'whole', usage }) as const;
  mesh.model.answer('Greet whoever comes.', written(greeting, 'Greets by name.'));
  mesh.model.answer('Say goodbye instead.', written(farewell, 'Says goodbye.'));
  const generate = `mutation ($input: AiGenerateWorkflowInput!) {
    aiGenerateWorkflow(input: $input) { definition summary } }`;
  await send(ada, generate, { input: { prompt: promptOf(ada, 'Greet whoever comes.') } });
  const change = `mutation ($input: GenerateWorkflowDiffInput!) {
    generateWorkflowDiff(input: $input) { patch summary } }`;
  await send(ada, change, { input: { workflowId, instruction: promptOf(ada, 'Say goodbye instead.') } });
  await send(ada, remove, { id: workflowId });
  await send(
    ada,
    `mutation ($input: TestLlmProviderInput!) {
      testLlmProvider(input: $input) { ok providerId modelId latencyMs error } }`,
    { input: { provider: pricedProvider } },
  );

  mesh.model.answer('Name a colour.', { text: 'Green.', usage });
  const input = { prompt: promptOf(ada, 'Name a colour.'), provider: pricedProvider };
  await send(
    server,
    `query ($input: GenerateTextInput!) {
      generateText(input: $input) { text providerId modelId costUsd finishReason } }`,
    { input },
  );
  const start = 'mutation ($input: GenerateTextInput!) { startTextGeneration(input: $input) { requestId } }';
  const { requestId } = await send<{ requestId: string }>(server, start, { input });
  const generation = `subscription ($requestId: String!, $after: String) {
    textGenerationEvents(requestId: $requestId, after: $after) { eventId text done modelId error finishReason } }`;
  await subscribe<{ done: boolean }>(t, server, {
    query: generation,
    variables: { requestId, after: '0' },
    isLast: ({ done }) => done,
  });
  await send(ada, 'mutation ($id: ID!) { deleteAgent(id: $id) }', { id });
  compare(t);
});
