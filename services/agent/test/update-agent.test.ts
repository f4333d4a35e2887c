import { isDomainError } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import { bound } from '@parley/testing/bound';
import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { agentSchema } from '../src/agent-schema.ts';
import type { UpdateAgentInput } from '../src/generated/schema.ts';
import { ada, agentApp, everyFieldInput, inTenant, offlinePorts, provisioned, useCases } from './agent-app.ts';

const owner = inTenant(1);

/** Inserts a workflow directly into its table, without the use case that creates workflows. */
function workflowOf(database: Database, tenantId: number): Promise<number> {
  return database.transact(tenantId, async ({ knex }) => {
    const [row] = await knex('workflows').insert({ tenant_id: tenantId, name: 'Screening' }, 'id');
    return row.id;
  });
}

test('an update changes the given fields and keeps the others', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, everyFieldInput());
  const after = await app.updateAgent(owner, { id, input: { name: 'Grace', status: 'INACTIVE', subject: undefined } });

  t.like(after, { ...everyFieldInput(), name: 'Grace', status: 'INACTIVE' });
  t.deepEqual(await app.findAgent(owner, id), after);
});

test('a URL for evaluations that the outbound guard would refuse changes nothing', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, everyFieldInput());
  const before = await app.findAgent(owner, id);
  const error = await t.throwsAsync(
    app.updateAgent(owner, { id, input: { name: 'X', externalSyncUrl: 'http://169.254.169.254/' } }),
  );
  t.like(error, { kind: 'invalid', fields: [{ path: 'input.externalSyncUrl' }] });
  t.deepEqual(await app.findAgent(owner, id), before);
  t.deepEqual(await app.listAuditLogs(owner, id), []);
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
  'knowledgeBaseIds',
  'tools',
] as const satisfies (keyof UpdateAgentInput)[];

test('null clears each nullable field', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, everyFieldInput());
  await app.updateAgent(owner, { id, input: { workflowId: await workflowOf(database, 1) } });
  for (const field of nullable)
    t.is((await app.updateAgent(owner, { id, input: { [field]: null } }))[field], null, field);
  await app.updateAgent(owner, { id, input: { avatarBackend: 'CLIENT_3D', avatarBackendConfig: null } });

  t.like(await app.findAgent(owner, id), { subject: null, llmProviderOverride: null, avatarBackendConfig: null });
});

test('null is refused for required fields', async (t) => {
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
  const error = await t.throwsAsync(app.updateAgent(owner, { id, input: needed }));
  t.deepEqual(
    isDomainError(error, 'invalid') && error.fields.map(({ path }) => path),
    Object.keys(needed).map((field) => `input.${field}`),
  );
});

test('the audit log has the user and the actual changes only', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, everyFieldInput());
  await app.updateAgent(owner, {
    id,
    input: { name: 'Ada', speakingRate: 2, externalSyncSchemaConfig: { score: '$.points' } },
  });
  await app.updateAgent({ ...owner, userId: 99, displayName: 'Alan' }, { id, input: { subject: null } });

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

test('an update without changes writes nothing', async (t) => {
  const { app } = await agentApp(t);
  const before = await app.createAgent(owner, everyFieldInput());
  const same: UpdateAgentInput = {
    ...everyFieldInput(),
    status: 'ACTIVE',
    workflowId: null,
  };
  // The same mapping, but with another order of keys and without a prototype, like the objects that GraphQL parses from literals.
  same.externalSyncSchemaConfig = Object.assign(Object.create(null), {
    'full name': '$.person.name',
    score: '$.score',
  });

  t.deepEqual(await app.updateAgent(owner, { id: before.id, input: same }), before);
  t.deepEqual(await app.updateAgent(owner, { id: before.id, input: {} }), before);
  t.deepEqual(await app.listAuditLogs(owner, before.id), []);
});

test('a refused update changes and logs nothing', async (t) => {
  const { app } = await agentApp(t);
  const before = await app.createAgent(owner, ada);
  for (const input of [
    { name: 'New', speakingRate: 9 },
    { name: 'New', workflowId: 5 },
    { externalSyncSecretRef: 'a' },
  ]) {
    const error = await t.throwsAsync(app.updateAgent(owner, { id: before.id, input }));
    t.true(isDomainError(error, 'workflowId' in input ? 'notFound' : 'invalid'));
  }
  t.deepEqual(await app.findAgent(owner, before.id), before);
  t.deepEqual(await app.listAuditLogs(owner, before.id), []);
});

test('the avatar backend is checked against the configuration as it would be after the update', async (t) => {
  const { app } = await agentApp(t);
  const config = { vendorAvatarId: 'v', vendorAvatarModel: 'm' };
  const { id } = await app.createAgent(owner, ada);
  const refused = (input: UpdateAgentInput) =>
    t.throwsAsync(app.updateAgent(owner, { id, input }), { message: /avatarBackendConfig is required/ });

  await refused({ avatarBackend: 'HOSTED_API' });
  await app.updateAgent(owner, { id, input: { avatarBackendConfig: config } });
  t.is((await app.updateAgent(owner, { id, input: { avatarBackend: 'HOSTED_API' } })).avatarBackend, 'HOSTED_API');
  await refused({ avatarBackendConfig: null });
  t.deepEqual((await app.findAgent(owner, id))?.avatarBackendConfig, config);
  t.is(
    (await app.updateAgent(owner, { id, input: { avatarBackend: 'CLIENT_3D', avatarBackendConfig: null } }))
      .avatarBackend,
    'CLIENT_3D',
  );
});

test("a workflow of the tenant can be attached and detached; another tenant's is not found", async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const own = await workflowOf(database, 1);
  const foreign = await workflowOf(database, 2);

  t.is((await app.updateAgent(owner, { id, input: { workflowId: own } })).workflowId, own);
  for (const workflowId of [foreign, 0, -1, 2_147_483_647]) {
    const error = await t.throwsAsync(app.updateAgent(owner, { id, input: { workflowId } }));
    t.like(error, { kind: 'notFound', message: `Workflow ${workflowId} not found` });
  }
  t.is((await app.findAgent(owner, id))?.workflowId, own);
  t.is((await app.updateAgent(owner, { id, input: { workflowId: null } })).workflowId, null);
});

test('a foreign key refuses a workflow of another tenant', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const foreign = await workflowOf(database, 2);
  await t.throwsAsync(
    database.transact(1, async ({ knex }) => knex('agents').where({ id }).update({ workflow_id: foreign })),
    { message: /agents_workflow/ },
  );
});

test('concurrent updates all take effect, and each is logged against the previous value', async (t) => {
  const { app, database } = await agentApp(t);
  const replica = await replicaOf(t, database, agentSchema);
  const second = bound(useCases, offlinePorts(replica));
  const { id } = await app.createAgent(owner, ada);
  await Promise.all([
    ...['a', 'b', 'c', 'd', 'e'].map((name) => app.updateAgent(owner, { id, input: { name } })),
    ...['v', 'w', 'x', 'y', 'z'].map((subject) => second.updateAgent(owner, { id, input: { subject } })),
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
    // Each update of a field starts from the value that the previous update of the field set.
    t.deepEqual(
      steps.map(({ from }) => from),
      [first, ...steps.slice(0, -1).map(({ to }) => to)],
    );
    t.is(steps.at(-1)?.to, last);
  }
});

test("an unknown, deleted or another tenant's agent cannot be updated", async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, ada);
  const deleted = await app.createAgent(owner, ada);
  await app.deleteAgent(owner, deleted.id);

  const notFound = (agentId: number) => ({ message: `Agent ${agentId} not found` });
  await t.throwsAsync(app.updateAgent(inTenant(2), { id, input: { name: 'Mine' } }), notFound(id));
  await t.throwsAsync(app.updateAgent(owner, { id: deleted.id, input: { name: 'New' } }), notFound(deleted.id));
  await t.throwsAsync(app.updateAgent(owner, { id: 999, input: { name: 'New' } }), notFound(999));
  t.is((await app.findAgent(owner, id))?.name, 'Ada');
});

test('changes of one agent are queued until their callers abort, apart from those of other tenants', async (t) => {
  const { app, database } = await agentApp(t);
  const { id } = await app.createAgent(owner, everyFieldInput());
  const gate = createGate();
  const first = database.transact(1, gate.pass, { lockQueue: { row: `agent 1 ${id}` } });
  const controller = new AbortController();
  const refusals = [
    t.throwsAsync(
      app.updateAgent(requestOf(owner, { signal: controller.signal }), { id, input: { name: 'Too late' } }),
    ),
    t.throwsAsync(app.deleteAgent(requestOf(owner, { signal: controller.signal }), id)),
  ];
  const foreign = t.throwsAsync(app.updateAgent(requestOf(inTenant(2)), { id, input: { name: 'Mine' } }));
  controller.abort();
  for (const refused of refusals) t.like(await refused, { kind: 'unavailable', message: 'The caller has gone' });
  gate.open();
  t.like(await foreign, { kind: 'notFound' });
  await first;
  t.like(await app.findAgent(owner, id), { name: everyFieldInput().name });
});

test('a secret is looked for where it is named anew, so that one that was removed since keeps no other field from being changed', async (t) => {
  const { app } = await agentApp(t);
  const { id } = await app.createAgent(owner, { ...ada, externalSyncSecretRef: 'WEBHOOK_KEY' });
  provisioned.add('NEXT_KEY');
  t.like(await app.updateAgent(owner, { id, input: { externalSyncSecretRef: 'NEXT_KEY' } }), {
    externalSyncSecretRef: 'NEXT_KEY',
  });
  provisioned.delete('NEXT_KEY');
  const input = { name: 'New', externalSyncSecretRef: 'NEXT_KEY' };
  t.like(await app.updateAgent(owner, { id, input }), input);
  await app.updateAgent(owner, { id, input: { externalSyncSecretRef: null } });
  t.like(await t.throwsAsync(app.updateAgent(owner, { id, input })), { kind: 'invalid' });
});
