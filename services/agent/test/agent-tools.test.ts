import test from 'ava';
import { type AgentUnit, ada, agentUnit, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);
const fields = 'tools { connectorId tool actionId }';
const create = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id ${fields} } }`;
const update = `mutation ($id: ID!, $tools: [AgentToolInput!]) { updateAgent(id: $id, input: { tools: $tools }) { ${fields} } }`;
const search = { connectorId: 3, tool: 'search' };
const order = { actionId: 5 };
const inFull = { search: { ...search, actionId: null }, order: { connectorId: null, tool: null, ...order } };

async function set(unit: AgentUnit, id: number, tools: object[] | null) {
  const { data, errors } = await unit.graph(owner, update, { id, tools });
  return errors?.[0] ?? (data?.['updateAgent'] as { tools: unknown } | undefined)?.tools;
}

test('an agent names tools of connectors and actions, in its order; null and an empty list clear them', async (t) => {
  const unit = await agentUnit(t);
  const { id, tools } = await createAgent(unit, owner, { tools: [order, search] });
  t.deepEqual<unknown, unknown>(tools, [inFull.order, inFull.search]);
  t.deepEqual(await set(unit, id, []), []);
  t.deepEqual(await set(unit, id, [{ ...search, actionId: null }]), [inFull.search]);
  t.deepEqual(await set(unit, id, [search]), [inFull.search], 'the same, so that nothing is logged');
  t.deepEqual(await set(unit, id, null), []);
  for (const none of [[], null, undefined]) t.deepEqual((await createAgent(unit, owner, { tools: none })).tools, []);
  const { data } = await unit.graph(owner, 'query ($id: ID!) { agentAuditLogs(id: $id) { changes } }', { id });
  t.deepEqual(data?.['agentAuditLogs'], [
    { changes: { tools: { from: [search], to: null } } },
    { changes: { tools: { from: null, to: [search] } } },
    { changes: { tools: { from: [order, search], to: null } } },
  ]);
});

test('twenty tools are accepted', async (t) => {
  const unit = await agentUnit(t);
  const twenty = Array.from({ length: 20 }, (_, at) => ({ connectorId: 1, tool: `tool ${at}` }));
  t.is((await createAgent(unit, owner, { tools: twenty })).tools?.length, 20);
});

for (const [what, tools, problem] of [
  [
    'twenty-one tools',
    Array.from({ length: 21 }, (_, at) => ({ connectorId: 1, tool: `tool ${at}` })),
    { path: 'input.tools', message: 'must have at most 20 tools' },
  ],
  [
    'a tool twice',
    [search, order, { tool: 'search', connectorId: 3, actionId: null }],
    { path: 'input.tools', message: 'must not have a tool twice' },
  ],
  [
    'a tool and an action in one',
    [order, { ...search, actionId: 5 }],
    { path: 'input.tools.1', message: 'must have either connectorId and tool, or actionId' },
  ],
  ['neither', [{}], { path: 'input.tools.0', message: 'must have either connectorId and tool, or actionId' }],
  [
    'a connector alone',
    [{ connectorId: 3 }],
    { path: 'input.tools.0', message: 'must have either connectorId and tool, or actionId' },
  ],
  [
    'a tool of no connector',
    [{ tool: 'search' }],
    { path: 'input.tools.0', message: 'must have either connectorId and tool, or actionId' },
  ],
  ['a blank name', [{ connectorId: 3, tool: ' ' }], { path: 'input.tools.0.tool', message: 'must not be blank' }],
] as const) {
  test(`${what} is refused with its path, and action is not asked`, async (t) => {
    const unit = await agentUnit(t);
    const { id } = await createAgent(unit, owner);
    const made = await unit.graph(owner, create, { input: { ...ada, tools } });
    t.deepEqual(made.errors?.[0]?.extensions['fields'], [problem]);
    t.like(await set(unit, id, [...tools]), { extensions: { code: 'BAD_REQUEST', fields: [problem] } });
    t.deepEqual(unit.action.checked, []);
  });
}

test("an absent connector or action, or another tenant's, is not found, and nothing is stored", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, { tools: [search] });
  for (const [absent, message] of [
    [{ connectorId: 77, tool: 'x' }, 'MCP connector 77 not found'],
    [{ actionId: 77 }, 'Custom action 77 not found'],
    [{ actionId: -1 }, 'Custom action -1 not found'],
  ] as const) {
    const made = await unit.graph(owner, create, { input: { ...ada, tools: [search, absent] } });
    t.like(made.errors?.[0], { message, extensions: { code: 'NOT_FOUND', statusCode: 404 } });
    t.like(await set(unit, id, [search, absent]), { message, extensions: { code: 'NOT_FOUND' } });
  }
  const foreign = await unit.graph(inTenant(2), create, { input: { ...ada, tools: [search] } });
  t.is(foreign.errors?.[0]?.extensions['code'], 'NOT_FOUND');
  const { data } = await unit.graph(owner, `{ agents { id ${fields} } }`);
  t.deepEqual(data, { agents: [{ id, tools: [inFull.search] }] });
  t.deepEqual((await unit.graph(inTenant(2), '{ agentCount }')).data, { agentCount: 0 });
});

test('only added tools are checked, so that an agent may keep one that was deleted', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, { tools: [search, order] });
  unit.action.deleted.add('3/search');
  t.deepEqual(await set(unit, id, [search, { actionId: 6 }]), [inFull.search, { ...inFull.order, actionId: 6 }]);
  t.deepEqual(unit.action.checked, [['3/search', '#5'], ['#6']]);
  await set(unit, id, null);
  t.like(await set(unit, id, [search]), { extensions: { code: 'NOT_FOUND' } });
});

test('while action is away tools cannot be added, and everything else can be saved', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner, { tools: [search] });
  await unit.action.stub.stop();
  t.like(await set(unit, id, [order]), { extensions: { code: 'UNAVAILABLE' } });
  const { errors } = await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { name: "Grace" }) { id } }`);
  t.is(errors, undefined);
  t.deepEqual(await set(unit, id, [search]), [inFull.search]);
  t.is((await createAgent(unit, owner)).name, ada.name);
});

test("another tenant's agent is not found, whatever tools are given", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const { errors } = await unit.graph(inTenant(2), update, { id, tools: [search] });
  t.is(errors?.[0]?.message, `Agent ${id} not found`);
  t.deepEqual(unit.action.checked, []);
});
