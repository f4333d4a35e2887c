import { setTimeout as delay } from 'node:timers/promises';
import { bound } from '@parley/testing/bound';
import { eventually } from '@parley/testing/eventually';
import { defaultEngine } from '@parley/testing/test-database';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { applyPatch } from 'rfc6902';
import { agentSchema } from '../src/agent-schema.ts';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { createWorkflow } from '../src/workflows/create-workflow.ts';
import { deleteWorkflow } from '../src/workflows/delete-workflow.ts';
import { publishWorkflow } from '../src/workflows/publish-workflow.ts';
import { listWorkflowVersions } from '../src/workflows/read-workflows.ts';
import { updateWorkflow } from '../src/workflows/update-workflow.ts';
import { workflowStore } from '../src/workflows/workflow-store.ts';
import { workflowVersionStore } from '../src/workflows/workflow-version-store.ts';
import { ada, agentApp, useCases as agentUseCases, offlinePorts } from './agent-app.ts';
import { agentUnit, createAgent, inTenant } from './agent-unit.ts';
import { greeting, naming, owner, type Refusal, workflowsOf } from './workflow-unit.ts';

test('a workflow is created, read, listed, changed and deleted', async (t) => {
  const unit = await agentUnit(t);
  const app = workflowsOf(unit);
  const made = await app.create({ description: 'Says hello' });
  t.like(made, {
    name: 'Greeting',
    description: 'Says hello',
    draft: greeting,
    published: null,
    publishedVersion: null,
    publishedAt: null,
  });
  t.deepEqual(await app.find(made.id), made);
  const second = await app.create({ draft: null, description: null });
  t.deepEqual(second.draft, {}, 'nothing is planned yet');
  t.deepEqual(await app.list(), [made, second]);
  t.deepEqual(await app.list('id'), [{ id: made.id }, { id: second.id }] as never);

  const changed = await app.update(made.id, { name: 'Hello', draft: { version: 1 } });
  t.like(changed, { name: 'Hello', description: 'Says hello', draft: { version: 1 } });
  t.true(changed.updatedAt > made.updatedAt);
  t.deepEqual(await app.update(made.id, { name: 'Hello' }), changed, 'an update without changes writes nothing');
  t.is((await app.update(made.id, { description: null })).description, null);

  t.true(await app.remove(made.id));
  t.is(await app.find(made.id), null);
  t.deepEqual(await app.list(), [second]);
  for (const gone of [app.remove, app.publish, app.versions, (id: number) => app.update(id, {})]) {
    const error = await t.throwsAsync<Refusal>(gone(made.id));
    t.like(error, { message: `Workflow ${made.id} not found`, extensions: { code: 'NOT_FOUND', statusCode: 404 } });
  }
});

test('nodes keep their names and the order in which they were written', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const draft = workflow({ say_it: say('z', { next: 'B' }), B: say('b'), 'a-1': say('a') });
  const { id } = await app.create({ draft });
  const { draft: read } = (await app.find(id)) as { draft: typeof draft };
  t.deepEqual(Object.keys(read.nodes), ['say_it', 'B', 'a-1']);
});

const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) });
for (const [what, input, path, message] of [
  ['a blank name', { name: ' ' }, 'input.name', 'must not be blank'],
  ['a long name', { name: 'x'.repeat(201) }, 'input.name', 'must have at most 200 characters'],
  ['a blank description', { description: '' }, 'input.description', 'must not be blank'],
  ['a text as draft', { draft: 'start' }, 'input.draft', 'must be a JSON object'],
  ['a list as draft', { draft: [] }, 'input.draft', 'must be a JSON object'],
  ['NUL in a draft', { draft: { a: ['\0'] } }, 'input.draft', 'must not hold the character NUL'],
  [
    'half a surrogate pair in a key',
    { draft: { '\ud800': 1 } },
    'input.draft',
    'must not hold half of a surrogate pair',
  ],
  ['a large draft', { draft: { a: 'x'.repeat(262_144) } }, 'input.draft', 'must have at most 262144 bytes as JSON'],
  ['a deep draft', { draft: deep(33) }, 'input.draft', 'must not be nested deeper than 32 levels'],
  [
    'a draft of many values',
    { draft: { a: Array.from({ length: 20_000 }, () => 0) } },
    'input.draft',
    'must have at most 20000 values',
  ],
] as const) {
  test(`${what} is refused, and nothing is stored`, async (t) => {
    const app = workflowsOf(await agentUnit(t));
    const kept = await app.create();
    for (const call of [app.create(input), app.update(kept.id, input)]) {
      const error = await t.throwsAsync<Refusal>(call);
      t.deepEqual(error?.extensions.fields, [{ path, message }]);
      t.is(error?.extensions.code, 'BAD_REQUEST');
    }
    t.deepEqual(await app.list(), [kept]);
  });
}

test('an update with null for name or draft is refused', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const { id } = await app.create();
  const error = await t.throwsAsync<Refusal>(app.update(id, { name: null, draft: null }));
  t.deepEqual(
    error?.extensions.fields?.map(({ path }) => path),
    ['input.name', 'input.draft'],
  );
});

test('a tenant has as many workflows as the operator lets it have, also when they are made at once', async (t) => {
  const app = workflowsOf(await agentUnit(t, { AGENT_MAX_WORKFLOWS: '3' }));
  const made = await Promise.allSettled(Array.from({ length: 6 }, () => app.create()));
  const refused = made.flatMap((each) => (each.status === 'rejected' ? [each.reason as Refusal] : []));
  t.is(refused.length, 3);
  t.like(refused[0], { extensions: { code: 'BAD_REQUEST', reason: 'LIMIT_REACHED' } });
  const [first] = await app.list();
  await app.remove(first?.id ?? 0);
  await t.notThrowsAsync(app.create());
});

test("another tenant's workflow is not found by any operation", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await workflowsOf(unit).create();
  await workflowsOf(unit).publish(id);
  const other = workflowsOf(unit, inTenant(2));
  t.is(await other.find(id), null);
  t.deepEqual(await other.list(), []);
  for (const call of [
    other.update(id, { name: 'Mine' }),
    other.publish(id),
    other.restore(id, 1),
    other.remove(id),
    other.versions(id),
    other.compare(id, 1),
  ]) {
    t.is((await t.throwsAsync<Refusal>(call))?.message, `Workflow ${id} not found`);
  }
  const agent = await createAgent(unit, inTenant(2));
  t.is((await t.throwsAsync<Refusal>(other.attach(agent.id, id)))?.message, `Workflow ${id} not found`);
});

test('publishing stores the draft as the next version, and publishing the same draft again creates none', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const { id } = await app.create();
  const first = await app.publish(id);
  t.like(first, { publishedVersion: 1, published: greeting, draft: greeting });
  t.truthy(first.publishedAt);
  t.deepEqual(await app.publish(id), first);

  const changed = workflow({ greet: say('Good day.') });
  t.like(await app.update(id, { draft: changed }), { published: greeting, publishedVersion: 1, draft: changed });
  t.like(await app.publish(id), { publishedVersion: 2, published: changed });
  const versions = await app.versions(id);
  t.like(versions, [
    { version: 2, definition: changed, publishedBy: 71 },
    { version: 1, definition: greeting, publishedBy: 71, publishedAt: first.publishedAt },
  ]);
  t.deepEqual((await app.list())[0], await app.find(id));
});

test('a version is put back into the draft, which may be published again', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const { id } = await app.create();
  await app.publish(id);
  const changed = workflow({ greet: say('Good day.') });
  await app.update(id, { draft: changed });
  await app.publish(id);
  t.like(await app.restore(id, 1), { draft: greeting, published: changed, publishedVersion: 2 });
  t.like(await app.publish(id), { published: greeting, publishedVersion: 3 });
  for (const version of [4, 0, -1, 2_147_483_647]) {
    const error = await t.throwsAsync<Refusal>(app.restore(id, version));
    t.like(error, { message: `Workflow version ${version} not found`, extensions: { code: 'NOT_FOUND' } });
  }
});

test('versions are compared with each other and with the draft, as patches that make one of the other', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const { id } = await app.create();
  await app.publish(id);
  const changed = workflow({ greet: say('Good day.', { next: 'bye' }), bye: say('Bye.') });
  await app.update(id, { draft: changed });
  const patch = await app.compare(id, 1);
  t.deepEqual(patch.map(({ op, path }) => `${op} ${path}`).sort(), [
    'add /nodes/bye',
    'add /nodes/greet/next',
    'replace /nodes/greet/text',
  ]);
  const before = structuredClone(greeting);
  applyPatch(before, patch as never);
  t.deepEqual(before, changed);
  await app.publish(id);
  t.deepEqual(await app.compare(id, 1, 2), patch);
  t.deepEqual(await app.compare(id, 1, null), patch);
  t.deepEqual(await app.compare(id, 2), []);
  t.like(await t.throwsAsync<Refusal>(app.compare(id, 1, 9)), { message: 'Workflow version 9 not found' });
});

test('a draft with problems is not published, and each is named with its path', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const { id } = await app.create({ draft: workflow({ greet: say('{{ variables.who }}', { next: 'gone' }) }) });
  const error = await t.throwsAsync<Refusal>(app.publish(id));
  t.is(error?.extensions.code, 'BAD_REQUEST');
  t.deepEqual(
    error?.extensions.fields?.map(({ path }) => path),
    ['draft.nodes.greet.next', 'draft.nodes.greet.text'],
  );
  const empty = await app.create({ draft: null });
  const refused = await t.throwsAsync<Refusal>(app.publish(empty.id));
  t.true(refused?.extensions.fields?.every(({ path }) => path.startsWith('draft.')));
  t.deepEqual(await app.versions(id), []);
});

test('what a definition names and is not there is named too, and keeps it from being published', async (t) => {
  const unit = await agentUnit(t);
  const app = workflowsOf(unit);
  t.deepEqual(await app.validate(naming()), []);
  t.deepEqual(await app.validate(naming({ base: 77, tool: 'fetch', actionId: 78 })), [
    { path: 'nodes.think.knowledgeBaseId', message: 'names the knowledge base 77, which is not there' },
    { path: 'nodes.think.tools.0', message: 'names the tool fetch of connector 3, which is not there' },
    { path: 'nodes.look', message: 'names the tool fetch of connector 3, which is not there' },
    { path: 'nodes.think.tools.1', message: 'names the action 78, which is not there' },
    { path: 'nodes.act', message: 'names the action 78, which is not there' },
  ]);
  const { id } = await app.create({ draft: naming({ connectorId: 44 }) });
  const error = await t.throwsAsync<Refusal>(app.publish(id));
  t.deepEqual(error?.extensions.fields, [
    { path: 'draft.nodes.think.tools.0', message: 'names the connector 44, which is not there' },
    { path: 'draft.nodes.look', message: 'names the connector 44, which is not there' },
  ]);
  const foreign = await workflowsOf(unit, inTenant(2)).validate(naming());
  t.is(foreign.length, 5, "another tenant's things are not there");
});

test('problems of the graph and missing things are named together', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const definition = naming({ base: 77 });
  const issues = await app.validate({ ...definition, start: 'gone' });
  t.deepEqual(
    issues.map(({ path }) => path),
    ['start', 'nodes.think.knowledgeBaseId'],
  );
});

test('an unreachable connector does not prevent publishing; an unavailable service does', async (t) => {
  const unit = await agentUnit(t);
  const app = workflowsOf(unit);
  unit.action.listedTools[3] = { errorKind: 'CONNECTOR_UNREACHABLE' };
  const { id } = await app.create({ draft: naming() });
  t.is((await app.publish(id)).publishedVersion, 1);
  t.deepEqual(unit.action.toolsListed[0]?.connectorIds, [3]);
  await unit.action.stub.stop();
  t.like(await t.throwsAsync<Refusal>(app.validate(naming())), { extensions: { code: 'UNAVAILABLE' } });
  t.deepEqual(await app.validate(greeting), [], 'nobody is asked about nothing');
});

test('a definition that is no object has problems, and one that no draft could hold is refused', async (t) => {
  const app = workflowsOf(await agentUnit(t));
  const error = await t.throwsAsync<Refusal>(app.validate(workflow({ greet: say('Hello\0') })));
  t.deepEqual(error?.extensions.fields, [{ path: 'definition', message: 'must not hold the character NUL' }]);
  for (const bad of ['text', 7, [], {}]) t.true((await app.validate(bad)).length > 0);
});

test('the schema of definitions can be read, and is the one that definitions are checked by', async (t) => {
  const unit = await agentUnit(t);
  const { data } = await unit.graph(owner, '{ workflowDefinitionSchema }');
  const schema = data?.['workflowDefinitionSchema'] as { $schema: string; properties: object };
  t.is(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
  t.true('nodes' in schema.properties);
});

test('a workflow is not deleted while agents have it, which are named; a deleted agent has none', async (t) => {
  const unit = await agentUnit(t);
  const app = workflowsOf(unit);
  const { id } = await app.create();
  const agents = [await createAgent(unit, owner), await createAgent(unit, owner, { name: 'Grace' })];
  for (const agent of agents) t.is((await app.attach(agent.id, id)).workflowId, id);
  const error = await t.throwsAsync<Refusal>(app.remove(id));
  const [first, second] = agents.map((agent) => agent.id);
  t.like(error, {
    message: `Workflow ${id} is attached to agent ${first} (Ada), agent ${second} (Grace)`,
    extensions: { code: 'CONFLICT', statusCode: 409, reason: 'WORKFLOW_ATTACHED' },
  });
  await app.attach(first ?? 0, null);
  await unit.graph(owner, 'mutation ($id: ID!) { deleteAgent(id: $id) }', { id: second });
  t.true(await app.remove(id));
  t.like(await t.throwsAsync<Refusal>(app.attach(first ?? 0, id)), { message: `Workflow ${id} not found` });
});

const useCases = {
  ...agentUseCases,
  createWorkflow,
  updateWorkflow,
  publishWorkflow,
  deleteWorkflow,
  listWorkflowVersions,
};

test('of an agent that gets a workflow and its deletion at once, one is refused', async (t) => {
  const { database } = await agentApp(t);
  const one = bound(useCases, offlinePorts(database));
  const other = bound(useCases, offlinePorts(await replicaOf(t, database, agentSchema)));
  for (let round = 0; round < 12; round += 1) {
    const [{ id }, agent] = [await one.createWorkflow(owner, { name: 'W' }), await one.createAgent(owner, ada)];
    const attach = () => one.updateAgent(owner, { id: agent.id, input: { workflowId: id } });
    const remove = () => other.deleteWorkflow(owner, id);
    const [attached, deleted] = await Promise.allSettled([
      delay(round % 3).then(attach),
      delay((round + 1) % 3).then(remove),
    ]);
    t.not(attached.status, deleted.status);
    if (attached.status === 'rejected') t.like(attached.reason, { kind: 'notFound' });
    if (deleted.status === 'rejected') t.like(deleted.reason, { kind: 'conflict' });
  }
});

test("a replica that waits for a workflow's lock sees a version that another one publishes meanwhile", async (t) => {
  const { database } = await agentApp(t);
  const one = bound(useCases, offlinePorts(database));
  const other = bound(useCases, offlinePorts(await replicaOf(t, database, agentSchema)));
  const { id } = await one.createWorkflow(owner, { name: 'W', draft: greeting });
  const { waiting } = await database.transact(1, async (db) => {
    const { draft } = await workflowStore(db).lock(id);
    const publishing = other.publishWorkflow(owner, id);
    const isBlocked = async () => {
      const { rows } = await db.knex.raw(
        'SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)) LIMIT 1',
      );
      return rows.length > 0;
    };
    // On the embedded database, all other transactions wait for this one to end.
    if (defaultEngine() === 'server') await eventually('it waits', isBlocked);
    await workflowVersionStore(db, id).insert({ version: 1, definition: draft, publishedBy: null });
    await workflowStore(db).update(id, { publishedVersion: 1 });
    return { waiting: publishing };
  });
  t.is((await waiting).publishedVersion, 1);
});

test('publishing at once on two replicas makes one version, and one while drafts change makes what was checked', async (t) => {
  const { database } = await agentApp(t);
  const one = bound(useCases, offlinePorts(database));
  const other = bound(useCases, offlinePorts(await replicaOf(t, database, agentSchema)));
  const { id } = await one.createWorkflow(owner, { name: 'W', draft: greeting });
  const published = await Promise.all([one, other, one, other].map((app) => app.publishWorkflow(owner, id)));
  t.deepEqual(new Set(published.map(({ publishedVersion }) => publishedVersion)), new Set([1]));

  await Promise.allSettled([
    ...Array.from({ length: 10 }, (_, n) =>
      other.updateWorkflow(owner, { id, input: { draft: n % 2 ? { broken: n } : workflow({ greet: say(`${n}`) }) } }),
    ),
    ...Array.from({ length: 5 }, () => one.publishWorkflow(owner, id)),
  ]);
  const versions = await one.listWorkflowVersions(owner, id);
  t.deepEqual(
    versions.map(({ version }) => version),
    versions.map((_, at) => versions.length - at),
  );
  t.true(versions.every(({ definition }) => 'nodes' in definition));
});

test('a workflow has as many versions as the operator lets it have', async (t) => {
  const app = workflowsOf(await agentUnit(t, { AGENT_MAX_WORKFLOW_VERSIONS: '1' }));
  const { id } = await app.create();
  await app.publish(id);
  await app.publish(id);
  await app.update(id, { draft: workflow({ greet: say('Again.') }) });
  t.like(await t.throwsAsync<Refusal>(app.publish(id)), { extensions: { reason: 'LIMIT_REACHED' } });
});
