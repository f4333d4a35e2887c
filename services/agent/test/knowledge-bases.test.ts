import test from 'ava';
import { ada, agentUnit, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);
const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id knowledgeBaseIds } }';
const update =
  'mutation ($id: ID!, $ids: [Int!]) { updateAgent(id: $id, input: { knowledgeBaseIds: $ids }) { knowledgeBaseIds } }';
const logs = 'query ($id: ID!) { agentAuditLogs(id: $id) { changes } }';

test('an agent names up to five different knowledge bases; null and an empty list clear them', async (t) => {
  const unit = await agentUnit(t);
  const { id, knowledgeBaseIds } = await createAgent(unit, owner, { knowledgeBaseIds: [5, 1, 5, 2, 3, 4, 1] });
  t.deepEqual(knowledgeBaseIds, [5, 1, 2, 3, 4]);
  const set = async (ids: number[] | null) => {
    const { data } = await unit.graph(owner, update, { id, ids });
    return (data?.['updateAgent'] as { knowledgeBaseIds: unknown } | undefined)?.knowledgeBaseIds;
  };
  t.is(await set([]), null);
  t.deepEqual(await set([2]), [2]);
  t.is(await set(null), null);
  t.is((await createAgent(unit, owner, { knowledgeBaseIds: [] })).knowledgeBaseIds, null);
  t.is((await createAgent(unit, owner, { knowledgeBaseIds: null })).knowledgeBaseIds, null);
  const { data } = await unit.graph(owner, logs, { id });
  t.deepEqual(data?.['agentAuditLogs'], [
    { changes: { knowledgeBaseIds: { from: [2], to: null } } },
    { changes: { knowledgeBaseIds: { from: null, to: [2] } } },
    { changes: { knowledgeBaseIds: { from: [5, 1, 2, 3, 4], to: null } } },
  ]);
});

test('six different bases are refused with their path, and nobody is asked', async (t) => {
  const unit = await agentUnit(t);
  const { errors } = await unit.graph(owner, create, { input: { ...ada, knowledgeBaseIds: [1, 2, 3, 4, 5, 6] } });
  t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST' });
  t.deepEqual(errors?.[0]?.extensions['fields'], [
    { path: 'input.knowledgeBaseIds', message: 'must have at most 5 different ids' },
  ]);
  t.deepEqual(unit.knowledge.checked, []);
});

test("an absent or another tenant's base is not found, and nothing is stored", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, { knowledgeBaseIds: [1] });
  for (const absent of [77, 0, -1]) {
    const made = await unit.graph(owner, create, { input: { ...ada, knowledgeBaseIds: [1, absent] } });
    t.like(made.errors?.[0], {
      message: `Knowledge base ${absent} not found`,
      extensions: { code: 'NOT_FOUND', statusCode: 404 },
    });
    const changed = await unit.graph(owner, update, { id, ids: [absent] });
    t.is(changed.errors?.[0]?.extensions['code'], 'NOT_FOUND');
  }
  const foreign = await unit.graph(inTenant(2), create, { input: { ...ada, knowledgeBaseIds: [1] } });
  t.is(foreign.errors?.[0]?.extensions['code'], 'NOT_FOUND');
  t.deepEqual((await unit.graph(owner, '{ agents { id knowledgeBaseIds } }')).data, {
    agents: [{ id, knowledgeBaseIds: [1] }],
  });
  t.deepEqual((await unit.graph(inTenant(2), '{ agentCount }')).data, { agentCount: 0 });
});

test('only added bases are checked, so that an agent may keep one that was deleted', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, { knowledgeBaseIds: [1, 2] });
  unit.knowledge.deleted.add(1);
  t.deepEqual((await unit.graph(owner, update, { id, ids: [1, 3] })).data, {
    updateAgent: { knowledgeBaseIds: [1, 3] },
  });
  t.deepEqual(unit.knowledge.checked, [[1, 2], [3]]);
  await unit.graph(owner, update, { id, ids: [3] });
  const again = await unit.graph(owner, update, { id, ids: [1, 3] });
  t.is(again.errors?.[0]?.extensions['code'], 'NOT_FOUND');
});

test('agents without bases are saved without knowledge', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { name: "Grace" }) { id } }`);
  t.deepEqual(unit.knowledge.checked, []);
});

test("another tenant's agent is not found, whatever bases are given", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const { errors } = await unit.graph(inTenant(2), update, { id, ids: [1] });
  t.is(errors?.[0]?.message, `Agent ${id} not found`);
  t.deepEqual(unit.knowledge.checked, []);
});
