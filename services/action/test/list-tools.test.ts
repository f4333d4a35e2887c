import test from 'ava';
import { actionUnit, inTenant } from './action-unit.ts';
import { scriptedServer } from './mcp/scripted-server.ts';

async function listOf(unit: Awaited<ReturnType<typeof actionUnit>>, query: object, tenantId = 1) {
  const { connectors, tools } = await unit.rpc.listTools(query, { caller: inTenant(tenantId) });
  const named = tools.map(({ ref, name, ...rest }) => ({
    what: ref?.target?.$case === 'tool' ? `${ref.target.value.connectorId}/${name}` : `#${ref?.target?.value} ${name}`,
    ...rest,
  }));
  return { connectors, tools: named };
}

test("the tenant's connectors and actions are listed, with the tools of the requested connectors", async (t) => {
  const unit = await actionUnit(t);
  const server = await scriptedServer(t, {
    'tools/list': () => ({
      tools: [
        { name: 'echo', description: 'x'.repeat(600), inputSchema: { type: 'object' } },
        { name: 'large', inputSchema: { type: 'object', description: 'y'.repeat(5_000) } },
      ],
    }),
  });
  const first = await unit.createConnector(1, server.url);
  const second = await unit.createConnector(1, 'http://127.0.0.1:9/');
  const actionId = await unit.createAction(1, { url: 'https://example.com/{id}', description: 'Reads it.' });
  await unit.createConnector(2, server.url);

  const connectors = [
    { id: first, name: 'Tools', errorKind: '' },
    { id: second, name: 'Tools', errorKind: '' },
  ];
  const action = { what: `#${actionId} Call`, description: '', inputSchemaJson: '' };
  t.deepEqual(await listOf(unit, {}), { connectors, tools: [action] });
  t.is(server.received.length, 0, 'no server is asked');

  const plain = { description: '', inputSchemaJson: '' };
  t.deepEqual(await listOf(unit, { connectorIds: [first, 999_999, -1] }), {
    connectors,
    tools: [{ what: `${first}/echo`, ...plain }, { what: `${first}/large`, ...plain }, action],
  });

  const all = await listOf(unit, { ofAll: true, described: true });
  t.deepEqual(all.connectors[1], { id: second, name: 'Tools', errorKind: 'CONNECTOR_UNREACHABLE' });
  const [echo, large, call] = all.tools;
  t.like(echo, { description: 'x'.repeat(500), inputSchemaJson: '{"type":"object"}' });
  t.like(large, { what: `${first}/large`, inputSchemaJson: '' });
  t.is(call?.description, 'Reads it.');
  t.deepEqual(JSON.parse(call?.inputSchemaJson ?? ''), {
    type: 'object',
    properties: { id: {} },
    required: ['id'],
  });
  t.deepEqual(await listOf(unit, { ofAll: true }, 3), { connectors: [], tools: [] });
});
