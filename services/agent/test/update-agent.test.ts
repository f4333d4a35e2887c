import { isDomainError } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import { bound } from '@parley/testing/bound';
import { createGate } from '@parley/testing/gate';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { agentReader } from '../src/agent-reader.ts';
import { agentSchema } from '../src/agent-schema.ts';
import { builtInCatalogue } from '../src/catalogue.ts';
import { readAgentConfig } from '../src/config.ts';
import type { UpdateAgentInput } from '../src/generated/schema.ts';
import { ada, agentApp, all, inTenant, offlineModels, useCases } from './agent-app.ts';

const owner = inTenant(1);

/** Workflows have no operations yet: a row stands for one. */
function workflowOf(database: Database, tenantId: number): Promise<number> {
  return database.transact(tenantId, async ({ knex }) => {
    const [row] = await knex('workflows').insert({ tenant_id: tenantId, name: 'Screening' }, 'id');
    return row.id;
  });
}

test('what is left out stays, and what is given changes', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, all());
  const after = await app.updateAgent(owner, id, { name: 'Grace', status: 'INACTIVE', subject: undefined });

  t.like(after, { ...all(), name: 'Grace', status: 'INACTIVE' });
  t.deepEqual(await app.findAgent(owner, id), after);
});

const nullable = [
  'subject',
  'openingGreeting',
  'workflowId',
  'ttsVoice',
  'ttsLang',
  'speakingRate',
  'avatarGlb',
  'avatarGender',
  'lipsyncLang',
  'evaluationPromptTemplate',
  'evaluationRecommendationLabels',
  'externalSyncUrl',
  'externalSyncSecretRef',
  'externalSyncOwnerId',
  'externalSyncSchemaConfig',
  'llmProviderOverride',
  'llmModelOverride',
] as const satisfies (keyof UpdateAgentInput)[];

test('null clears each field that may be empty', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, all());
  await app.updateAgent(owner, id, { workflowId: await workflowOf(database, 1) });
  for (const field of nullable) t.is((await app.updateAgent(owner, id, { [field]: null }))[field], null, field);
  await app.updateAgent(owner, id, { avatarBackend: 'CLIENT_3D', avatarBackendConfig: null });

  t.like(await app.findAgent(owner, id), { subject: null, llmProviderOverride: null, avatarBackendConfig: null });
});

test('null is refused for what an agent is never without', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const needed = {
    name: null,
    personaPrompt: null,
    position: null,
    useCase: null,
    voiceTier: null,
    status: null,
    vadThreshold: null,
    avatarBackend: null,
  };
  const error = await t.throwsAsync(app.updateAgent(owner, id, needed));
  t.deepEqual(
    isDomainError(error, 'invalid') && error.fields.map(({ path }) => path),
    Object.keys(needed).map((field) => `input.${field}`),
  );
});

test('the audit log tells who changed what, and only what really changed', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, all());
  await app.updateAgent(owner, id, { name: 'Ada', speakingRate: 2, externalSyncSchemaConfig: { score: '$.points' } });
  await app.updateAgent({ ...owner, userId: 99, displayName: 'Alan' }, id, { subject: null });

  const logs = await app.listAuditLogs(owner, id);
  t.like(logs, {
    0: { action: 'UPDATE', agentId: id, userId: 99, username: 'Alan' },
    1: { action: 'UPDATE', agentId: id, userId: owner.userId, username: 'Grace Hopper' },
    length: 2,
  });
  t.deepEqual(
    logs.map(({ changes }) => changes),
    [
      { subject: { from: 'Fractions', to: null } },
      {
        speakingRate: { from: 1.25, to: 2 },
        externalSyncSchemaConfig: {
          from: { score: '$.score', 'full name': '$.person.name' },
          to: { score: '$.points' },
        },
      },
    ],
  );
});

test('an update that changes nothing leaves no trace', async (t) => {
  const { app } = await agentApp(t);
  const before = await app.createAgent(owner, all());
  const same: UpdateAgentInput = { ...all(), status: 'ACTIVE', workflowId: null, externalSyncSecretRef: null };
  // The same mapping, its keys in another order and in an object without a prototype, as a GraphQL literal gives it.
  same.externalSyncSchemaConfig = Object.assign(Object.create(null), {
    'full name': '$.person.name',
    score: '$.score',
  });

  t.deepEqual(await app.updateAgent(owner, before.id, same), before);
  t.deepEqual(await app.updateAgent(owner, before.id, {}), before);
  t.deepEqual(await app.listAuditLogs(owner, before.id), []);
});

test('a refused update changes and records nothing', async (t) => {
  const { app } = await agentApp(t);
  const before = await app.createAgent(owner, ada);
  for (const input of [
    { name: 'New', speakingRate: 9 },
    { name: 'New', workflowId: 5 },
    { externalSyncSecretRef: 'a' },
  ]) {
    const error = await t.throwsAsync(app.updateAgent(owner, before.id, input));
    t.true(isDomainError(error, 'workflowId' in input ? 'notFound' : 'invalid'));
  }
  t.deepEqual(await app.findAgent(owner, before.id), before);
  t.deepEqual(await app.listAuditLogs(owner, before.id), []);
});

test('the avatar backend and its config are looked at together, as they would stand', async (t) => {
  const { app } = await agentApp(t);
  const config = { vendorAvatarId: 'v', vendorAvatarModel: 'm' };
  const { id } = await app.createAgent(owner, ada);
  const refused = (input: UpdateAgentInput) =>
    t.throwsAsync(app.updateAgent(owner, id, input), { message: /avatarBackendConfig is required/ });

  await refused({ avatarBackend: 'HOSTED_API' });
  await app.updateAgent(owner, id, { avatarBackendConfig: config });
  t.is((await app.updateAgent(owner, id, { avatarBackend: 'HOSTED_API' })).avatarBackend, 'HOSTED_API');
  await refused({ avatarBackendConfig: null });
  t.deepEqual((await app.findAgent(owner, id))?.avatarBackendConfig, config);
  t.is(
    (await app.updateAgent(owner, id, { avatarBackend: 'CLIENT_3D', avatarBackendConfig: null })).avatarBackend,
    'CLIENT_3D',
  );
});

test("a workflow of the tenant is attached and detached; another tenant's is not found", async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const own = await workflowOf(database, 1);
  const foreign = await workflowOf(database, 2);

  t.is((await app.updateAgent(owner, id, { workflowId: own })).workflowId, own);
  for (const workflowId of [foreign, 0, -1, 2_147_483_647]) {
    const error = await t.throwsAsync(app.updateAgent(owner, id, { workflowId }));
    t.like(error, { kind: 'notFound', message: `Workflow ${workflowId} not found` });
  }
  t.is((await app.findAgent(owner, id))?.workflowId, own);
  t.is((await app.updateAgent(owner, id, { workflowId: null })).workflowId, null);
});

test('the database itself refuses a workflow of another tenant', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const foreign = await workflowOf(database, 2);
  await t.throwsAsync(
    database.transact(1, async ({ knex }) => knex('agents').where({ id }).update({ workflow_id: foreign })),
    { message: /agents_workflow/ },
  );
});

test('updates at the same time all take effect, and each is recorded against what it found', async (t) => {
  const { app, database } = await agentApp(t);
  const replica = await replicaOf(t, database, agentSchema);
  const second = bound(useCases, {
    database: replica,
    readAgent: agentReader(replica),
    chooseModel: async () => offlineModels().choose(),
    catalogue: builtInCatalogue,
    documentation: readAgentConfig({}).documentation,
  });
  const { id } = await app.createAgent(owner, ada);
  await Promise.all([
    ...['a', 'b', 'c', 'd', 'e'].map((name) => app.updateAgent(owner, id, { name })),
    ...['v', 'w', 'x', 'y', 'z'].map((subject) => second.updateAgent(owner, id, { subject })),
  ]);

  const agent = await app.getAgent(owner, id);
  const logs = (await app.listAuditLogs(owner, id)).toReversed();
  t.is(logs.length, 10);
  for (const [field, first, last] of [
    ['name', 'Ada', agent.name],
    ['subject', null, agent.subject],
  ] as const) {
    const steps = logs.flatMap(({ changes }) => changes[field] ?? []);
    t.is(steps.length, 5);
    // Each began where the one before it ended.
    t.deepEqual(
      steps.map(({ from }) => from),
      [first, ...steps.slice(0, -1).map(({ to }) => to)],
    );
    t.is(steps.at(-1)?.to, last);
  }
});

test("what is absent, deleted or another tenant's cannot be updated", async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const gone = await app.createAgent(owner, ada);
  await app.deleteAgent(owner, gone.id);

  const notFound = (agentId: number) => ({ message: `Agent ${agentId} not found` });
  await t.throwsAsync(app.updateAgent(inTenant(2), id, { name: 'Mine' }), notFound(id));
  await t.throwsAsync(app.updateAgent(owner, gone.id, { name: 'New' }), notFound(gone.id));
  await t.throwsAsync(app.updateAgent(owner, 999, { name: 'New' }), notFound(999));
  t.is((await app.findAgent(owner, id))?.name, 'Ada');
});

test('changes of one agent take turns, for as long as their callers wait, and nobody else can hold them up', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, all());
  const gate = createGate();
  const first = database.transact(1, gate.pass, { turn: { row: `agent 1 ${id}` } });
  const leaving = new AbortController();
  const refusals = [
    t.throwsAsync(app.updateAgent(owner, id, { name: 'Too late' }, leaving.signal)),
    t.throwsAsync(app.deleteAgent(owner, id, leaving.signal)),
  ];
  const foreign = t.throwsAsync(app.updateAgent(inTenant(2), id, { name: 'Mine' }, leaving.signal));
  leaving.abort();
  gate.open();
  for (const refused of refusals) t.like(await refused, { kind: 'unavailable', message: 'The caller has gone' });
  t.like(await foreign, { kind: 'notFound' });
  await first;
  t.like(await app.findAgent(owner, id), { name: all().name });
});
