import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { ada, agentUnit, allFields, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);
const malformedIds = ['abc', '0', '-1', '99999999999', '2147483648', '1.0', '01', ' 1', '１', '1e3', '', '__proto__'];
const updateAgent = `mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { ${allFields} } }`;

test('an agent can be created, read, updated, listed, counted and deleted over GraphQL', async (t) => {
  const unit = await agentUnit(t);
  const agent = await createAgent(unit, owner, {
    subject: 'Fractions',
    externalSyncSchemaConfig: { score: '$.score' },
  });

  t.like(agent, { ...ada, subject: 'Fractions', useCase: 'INTERVIEW', vadThreshold: 0.5, status: 'ACTIVE' });
  t.regex(String(agent.createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const read = await unit.graph(
    owner,
    `query ($id: ID!) { agent(id: $id) { ${allFields} } agentCount agents { id } }`,
    {
      id: agent.id,
    },
  );
  t.deepEqual(read, { data: { agent, agentCount: 1, agents: [{ id: agent.id }] } });

  const { data } = await unit.graph(owner, updateAgent, { id: agent.id, input: { subject: null, status: 'INACTIVE' } });
  t.like(data?.['updateAgent'], { ...ada, subject: null, status: 'INACTIVE' });
  t.deepEqual(await unit.graph(owner, `mutation { deleteAgent(id: ${agent.id}) }`), { data: { deleteAgent: true } });
  t.deepEqual(await unit.graph(owner, `{ agent(id: ${agent.id}) { id } agentCount agents { id } }`), {
    data: { agent: null, agentCount: 0, agents: [] },
  });
});

test('omitted fields and null are distinguished in literals and variables', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, { subject: 'Fractions', ttsLang: 'en', ttsVoice: 'a' });
  await unit.graph(owner, updateAgent, { id, input: { subject: null } });
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { ttsLang: null }) { id } }`);
  // An argument whose variable is missing counts as omitted.
  const query =
    'mutation ($id: ID!, $voice: String) { updateAgent(id: $id, input: { ttsVoice: $voice }) { ttsVoice } }';
  t.deepEqual(await unit.graph(owner, query, { id }), { data: { updateAgent: { ttsVoice: 'a' } } });

  const { data } = await unit.graph(owner, `{ agent(id: ${id}) { subject ttsLang ttsVoice } }`);
  t.deepEqual(data, { agent: { subject: null, ttsLang: null, ttsVoice: 'a' } });
});

test('a JSON literal is accepted, and an equal one is no change', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, {
    avatarBackendConfig: { vendorAvatarId: 'a', vendorAvatarModel: 'm' },
  });
  const literal = '{ vendorAvatarModel: "m", vendorAvatarId: "a" }';
  const answer = await unit.graph(
    owner,
    `mutation { updateAgent(id: ${id}, input: { avatarBackendConfig: ${literal} }) { avatarBackendConfig } }`,
  );
  t.deepEqual(answer.data?.['updateAgent'], { avatarBackendConfig: { vendorAvatarId: 'a', vendorAvatarModel: 'm' } });
  t.deepEqual((await unit.graph(owner, `{ agentAuditLogs(id: ${id}) { id } }`)).data, { agentAuditLogs: [] });
});

test('a refused input names every bad field', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const { errors } = await unit.graph(owner, updateAgent, {
    id,
    input: { name: null, subject: 'a\0b', vadThreshold: 2 },
  });
  t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 400 });
  t.deepEqual(errors?.[0]?.extensions['fields'], [
    { path: 'input.name', message: 'must not be null' },
    { path: 'input.subject', message: 'must not hold the character NUL' },
    { path: 'input.vadThreshold', message: 'must be between 0 and 1' },
  ]);
});

test('lone surrogates are refused, also inside JSON', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  for (const input of [{ name: '\ud800' }, { externalSyncSchemaConfig: { '\udc00': 'a' } }]) {
    const { errors } = await unit.graph(owner, updateAgent, { id, input });
    t.is(errors?.[0]?.extensions['code'], 'BAD_REQUEST');
  }
});

test('a malformed id is not found', async (t) => {
  const unit = await agentUnit(t);
  for (const id of malformedIds) {
    t.deepEqual(await unit.graph(owner, 'query ($id: ID!) { agent(id: $id) { id } }', { id }), {
      data: { agent: null },
    });
    for (const query of [
      'query ($id: ID!) { agentAuditLogs(id: $id) { id } }',
      'mutation ($id: ID!) { deleteAgent(id: $id) }',
      'mutation ($id: ID!) { updateAgent(id: $id, input: { name: "a" }) { id } }',
    ]) {
      const { errors } = await unit.graph(owner, query, { id });
      t.like(
        errors?.[0],
        { message: `Agent ${id} not found`, extensions: { code: 'NOT_FOUND', statusCode: 404 } },
        query,
      );
    }
  }
});

test("another tenant's agent is null or not found in every operation", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  await unit.graph(owner, updateAgent, { id, input: { name: 'Grace' } });
  const stranger = inTenant(2);

  t.deepEqual((await unit.graph(stranger, `{ agent(id: ${id}) { id } agents { id } agentCount }`)).data, {
    agent: null,
    agents: [],
    agentCount: 0,
  });
  for (const query of [
    `{ agentAuditLogs(id: ${id}) { id } }`,
    `mutation { updateAgent(id: ${id}, input: { name: "Mine" }) { id } }`,
    `mutation { deleteAgent(id: ${id}) }`,
  ]) {
    t.is((await unit.graph(stranger, query)).errors?.[0]?.extensions['code'], 'NOT_FOUND', query);
  }
  const entities = await unit.graph(stranger, entitiesQuery, { keys: [{ __typename: 'AgentDto', id }] });
  t.deepEqual(entities.data, { _entities: [null] });
  t.like((await unit.graph(owner, `{ agent(id: ${id}) { name } }`)).data, { agent: { name: 'Grace' } });
});

test('the audit log has user and changes, newest first', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  await unit.graph(owner, updateAgent, { id, input: { name: 'Grace' } });
  await unit.graph(owner, updateAgent, { id, input: { workflowId: null, status: 'INACTIVE' } });

  const { data } = await unit.graph(
    owner,
    `{ agentAuditLogs(id: ${id}) { auditableType auditableId action userId username changes } }`,
  );
  const by = {
    auditableType: 'Agent',
    auditableId: id,
    action: 'UPDATE',
    userId: owner.userId,
    username: 'Ada Lovelace',
  };
  t.deepEqual(data, {
    agentAuditLogs: [
      { ...by, changes: { status: { from: 'ACTIVE', to: 'INACTIVE' } } },
      { ...by, changes: { name: { from: 'Ada', to: 'Grace' } } },
    ],
  });
});

const entitiesQuery = 'query ($keys: [_Any!]!) { _entities(representations: $keys) { ... on AgentDto { id name } } }';

test('a hundred entity references are read in one transaction, deleted agents included', async (t) => {
  const unit = await agentUnit(t);
  const first = await createAgent(unit, owner, { name: 'First' });
  const second = await createAgent(unit, owner, { name: 'Second' });
  await unit.graph(owner, `mutation { deleteAgent(id: ${second.id}) }`);
  const before = unit.transactions();

  const ids = [second.id, 999_999, ...Array.from({ length: 98 }, () => first.id)];
  const { data } = await unit.graph(owner, entitiesQuery, { keys: ids.map((id) => ({ __typename: 'AgentDto', id })) });
  t.is(unit.transactions() - before, 1);
  t.like(data?.['_entities'], {
    0: { id: second.id, name: 'Second' },
    1: null,
    2: { id: first.id, name: 'First' },
    99: { id: first.id, name: 'First' },
    length: 100,
  });
});

test('only a signed-in user with a tenant can read agents', async (t) => {
  const unit = await agentUnit(t);
  const queries = [
    '{ agents { id } }',
    '{ agentCount }',
    '{ agentConfigOptions { ttsVoiceCatalogUrl } }',
    '{ agent(id: 1) { id } }',
    '{ agent(id: "none") { id } }',
    '{ workflows { id } }',
    '{ workflowRuns(sessionId: 1) { id } }',
    '{ workflow(id: 1) { id } }',
    '{ workflowVersions(workflowId: 1) { version } }',
    '{ compareWorkflowVersions(workflowId: 1, from: 1) }',
    '{ validateWorkflow(definition: {}) { path } }',
    '{ workflowDefinitionSchema }',
  ];
  for (const query of queries) {
    for (const kind of ['anonymous', 'apiKey', 'session', 'service'] as const) {
      const { errors } = await unit.graph({ kind, tenantId: 1, requestId: 'r' }, query);
      t.is(errors?.[0]?.extensions['code'], 'UNAUTHENTICATED', `${kind}: ${query}`);
    }
    const { errors } = await unit.graph({ kind: 'user', userId: 1, tenantId: null, requestId: 'r' }, query);
    t.like(errors?.[0]?.extensions, { code: 'FORBIDDEN', reason: 'NO_TENANT' }, query);
  }
});

test('the configuration options have the models of voice, also while it is away', async (t) => {
  const server = createServer((_, response) => {
    const models = [{ id: 'aria', label: 'Aria', gender: 'FEMALE', path: 'avatars/models/aria.glb' }];
    response.end(JSON.stringify({ models }));
  });
  const voice = `http://${await listen(server)}`;
  const away = () => {
    server.closeAllConnections();
    server.close();
  };
  t.teardown(away);
  const env = { AGENT_LIPSYNC_DOCS_URL: 'https://docs.example.com/lipsync', AGENT_AVATAR_MODELS_KEPT_MS: '1' };
  const unit = await agentUnit(t, env);
  const options = `{ agentConfigOptions {
    avatarModels { id filename label gender } recommendedTtsVoices { name languageCode gender tier }
    ttsVoiceCatalogUrl sttLanguageCatalogUrl lipsyncModuleDocsUrl
  } }`;
  const ask = async () => (await unit.graph(owner, options)).data?.['agentConfigOptions'];
  const others = {
    recommendedTtsVoices: { 0: { name: 'en-us+f3', languageCode: 'en-US', gender: 'FEMALE', tier: 'STANDARD' } },
    lipsyncModuleDocsUrl: 'https://docs.example.com/lipsync',
  };
  t.like(await ask(), { avatarModels: [], ...others }, 'voice is in no address');
  const models = [{ id: 'aria', filename: 'aria.glb', label: 'Aria', gender: 'FEMALE' }];
  unit.addresses.announce('voice', 'public', voice);
  await eventually('voice is asked', async () => JSON.stringify(await ask()).includes('aria.glb'));
  t.like(await ask(), { avatarModels: models, ...others });
  away();
  for (let i = 0; i < 3; i += 1) t.like(await ask(), { avatarModels: models, ...others });
});
