import test from 'ava';
import { actionUnit, inTenant } from './action-unit.ts';
import { scriptedServer } from './mcp/scripted-server.ts';

const create =
  'mutation ($input: CreateMcpConnectorInput!) { createMcpConnector(input: $input) { id name serverUrl createdAt updatedAt } }';
const update =
  'mutation ($input: UpdateMcpConnectorInput!) { updateMcpConnector(input: $input) { id name serverUrl updatedAt } }';
const listTools = 'query ($id: Int!) { listMcpTools(connectorId: $id) { name description inputSchema changedAt } }';

test('a connector is created, read, listed, updated and deleted, and its key is never returned or stored in plain text', async (t) => {
  const unit = await actionUnit(t);
  const input = { name: 'Tools', serverUrl: 'https://example.com/mcp', apiKey: 'canary-key' };
  const made = (await unit.ask(1, create, { input }))['createMcpConnector'] as { id: number };
  t.like(made, { name: 'Tools', serverUrl: 'https://example.com/mcp' });
  const { mcpConnectors } = await unit.ask(1, '{ mcpConnectors { id name serverUrl createdAt updatedAt } }');
  t.like(mcpConnectors, [{ id: made.id }]);
  await unit.ask(1, update, { input: { id: made.id, name: 'Others' } });
  const { mcpConnector } = await unit.ask(1, 'query ($id: Int!) { mcpConnector(id: $id) { name serverUrl } }', made);
  t.deepEqual(mcpConnector, { name: 'Others', serverUrl: 'https://example.com/mcp' });
  t.deepEqual((await unit.ask(2, '{ mcpConnectors { id } }'))['mcpConnectors'], []);

  const rows = () =>
    unit.database.transact(
      1,
      async ({ knex }) => (await knex('mcp_connectors').select('*')) as Record<string, unknown>[],
    );
  const [row] = await rows();
  t.false(JSON.stringify(Object.values(row ?? {}).map(String)).includes('canary'));
  t.true(Buffer.isBuffer(row?.['apiKeySealed']));
  await unit.ask(1, 'mutation ($id: Int!) { deleteMcpConnector(id: $id) }', made);
  t.like(await t.throwsAsync(unit.ask(1, 'mutation ($id: Int!) { deleteMcpConnector(id: $id) }', made)), {
    code: 'NOT_FOUND',
  });
  t.is((await rows())[0]?.['apiKeySealed'], null);
});

test('an invalid field of a connector is refused, and no error contains the key', async (t) => {
  const unit = await actionUnit(t, { env: { OUTBOUND_ALLOWLIST: '', OUTBOUND_PORTS: '80,443' } });
  const good = { name: 'Tools', serverUrl: 'https://example.com/mcp', apiKey: 'canary-key' };
  for (const [field, bad] of Object.entries({
    name: [' ', 'x'.repeat(201), 'a\nb'],
    serverUrl: [
      'ftp://example.com',
      'http://127.0.0.1/',
      'http://[::1]/',
      'http://10.0.0.1',
      'https://u:p@example.com',
      'https://example.com:22',
      ' https://example.com',
      `https://example.com/${'x'.repeat(2_000)}`,
    ],
    apiKey: ['', ' canary', 'canary\r\nx: y', 'canary\u0000', `canary${'x'.repeat(4_096)}`, 'canary→'],
  })) {
    for (const value of bad) {
      const error = await t.throwsAsync(unit.ask(1, create, { input: { ...good, [field]: value } }));
      t.like(error, { code: 'BAD_REQUEST', fields: [{ path: `input.${field}` }] }, value);
      t.false(error?.message.includes('canary'));
    }
  }
  const id = await unit.createConnector(1, good.serverUrl);
  for (const change of [{ name: null }, { serverUrl: null }, { serverUrl: 'http://127.0.0.1/' }])
    t.like(await t.throwsAsync(unit.ask(1, update, { input: { id, ...change } })), { code: 'BAD_REQUEST' });
});

test("concurrent creations of connectors respect the tenant's limit", async (t) => {
  const unit = await actionUnit(t, { env: { ACTION_MAX_CONNECTORS: '3' } });
  const make = () => unit.createConnector(1, 'https://example.com/mcp');
  const made = await Promise.allSettled(Array.from({ length: 8 }, make));
  t.is(made.filter(({ status }) => status === 'fulfilled').length, 3);
  t.like(await t.throwsAsync(make()), { message: 'A tenant has at most 3 connectors', code: 'BAD_REQUEST' });
  await unit.createConnector(2, 'https://example.com/mcp');
});

test('concurrent updates are both kept, and of two concurrent deletions one succeeds', async (t) => {
  const unit = await actionUnit(t);
  const id = await unit.createConnector(1, 'https://tools.example.com/mcp');
  const update =
    'mutation ($input: UpdateMcpConnectorInput!) { updateMcpConnector(input: $input) { id name serverUrl } }';
  const serverUrl = 'https://moved.example.com/mcp';
  await Promise.all([
    unit.ask(1, update, { input: { id, name: 'Renamed' } }),
    unit.ask(1, update, { input: { id, serverUrl } }),
  ]);
  const read = 'query ($id: Int!) { mcpConnector(id: $id) { name serverUrl } }';
  t.deepEqual(await unit.ask(1, read, { id }), { mcpConnector: { name: 'Renamed', serverUrl } });
  const remove = 'mutation ($id: Int!) { deleteMcpConnector(id: $id) }';
  const removed = await Promise.allSettled([unit.ask(1, remove, { id }), unit.ask(1, remove, { id })]);
  t.deepEqual(removed.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('tools are listed and cached, and a tool whose schema changes stays flagged', async (t) => {
  const unit = await actionUnit(t, { env: { ACTION_TOOL_LIST_KEPT_MS: '1' } });
  let schema: object = { properties: { a: {}, b: {} }, $ref: '#/x' };
  const server = await scriptedServer(t, {
    'tools/list': () => ({
      tools: [
        { name: 'echo', inputSchema: schema },
        { name: 'plain', description: 'Says it' },
      ],
    }),
  });
  const id = await unit.createConnector(1, server.url);
  const tools = async () =>
    (await unit.ask(1, listTools, { id }))['listMcpTools'] as { name: string; changedAt: string | null }[];
  t.like(await tools(), [
    { name: 'echo', description: null, changedAt: null },
    { name: 'plain', description: 'Says it', changedAt: null },
  ]);
  schema = { $ref: '#/x', properties: { b: {}, a: {} } };
  t.deepEqual(
    (await tools()).map(({ changedAt }) => changedAt),
    [null, null],
    'only their order differs',
  );
  schema = { properties: { a: {} } };
  const [drifted] = await tools();
  t.regex(drifted?.changedAt ?? '', /^\d{4}-/u);
  schema = { $ref: '#/x', properties: { b: {}, a: {} } };
  t.is((await tools())[0]?.changedAt, drifted?.changedAt);
  const entries = await unit.calls(1);
  t.true(entries.length >= 4);
  t.like(entries[0], { kind: 'TOOL_LIST', target: id, name: 'Tools', status: 200, errorKind: null });
  t.true(Number(entries[0]?.['bytes']) > 0);
});

test('a refused credential and an unreachable server have different errors, and both are logged', async (t) => {
  const unit = await actionUnit(t);
  const refusing = await scriptedServer(t, { initialize: (_, response) => void response.writeHead(401).end() });
  const unauthorized = await unit.createConnector(1, refusing.url, 'canary-key');
  const away = await unit.createConnector(1, 'http://127.0.0.1:9/mcp');
  const refusal = await t.throwsAsync(unit.ask(1, listTools, { id: unauthorized }));
  t.like(refusal, { code: 'BAD_REQUEST', reason: 'CONNECTOR_UNAUTHORIZED' });
  t.false(JSON.stringify(refusal).includes('canary'));
  t.like(await t.throwsAsync(unit.ask(1, listTools, { id: away })), {
    code: 'UNAVAILABLE',
    reason: 'CONNECTOR_UNREACHABLE',
  });
  t.deepEqual(
    (await unit.calls(1)).map(({ errorKind }) => errorKind),
    ['CONNECTOR_UNREACHABLE', 'CONNECTOR_UNAUTHORIZED'],
  );
  t.like(await unit.callTool(1, unauthorized, 'echo'), { errorKind: 'CONNECTOR_UNAUTHORIZED' });
});

test('a slow connector does not delay others, and missing tools are listed with the reason', async (t) => {
  const unit = await actionUnit(t, { env: { ACTION_DESCRIBE_MS: '1500' } });
  const quick = await scriptedServer(t);
  const slow = await scriptedServer(t, { 'tools/list': () => undefined });
  const [quickId, slowId] = [await unit.createConnector(1, quick.url), await unit.createConnector(1, slow.url)];
  const actionId = await unit.createAction(1, { url: 'https://example.com/{city}', description: 'Weather' });
  const tool = (connectorId: number, name: string) => ({
    target: { $case: 'tool' as const, value: { connectorId, name } },
  });
  const action = (value: number) => ({ target: { $case: 'actionId' as const, value } });
  const startedAt = performance.now();
  const described = await unit.rpc.describeTools(
    {
      tools: [
        tool(slowId, 'echo'),
        action(actionId),
        tool(quickId, 'echo'),
        tool(quickId, 'none'),
        action(999),
        tool(999, 'x'),
      ],
    },
    { caller: inTenant(1) },
  );
  t.true(performance.now() - startedAt < 5_000);
  t.deepEqual(
    described.tools.map(({ name, description, inputSchemaJson }) => [
      name,
      description,
      JSON.parse(inputSchemaJson).required,
    ]),
    [
      ['Call', 'Weather', ['city']],
      ['echo', '', undefined],
    ],
  );
  t.deepEqual(
    described.missing.map(({ errorKind }) => errorKind),
    ['CONNECTOR_UNREACHABLE', 'TOOL_NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND'],
  );
  await unit.rpc.checkTools({ tools: [tool(slowId, 'x'), action(actionId)] }, { caller: inTenant(1) });
  const options = { caller: inTenant(2), expectedErrors: ['notFound' as const] };
  t.like(await t.throwsAsync(unit.rpc.checkTools({ tools: [action(actionId)] }, options)), { kind: 'notFound' });
  t.like(await t.throwsAsync(unit.rpc.checkTools({ tools: [tool(slowId, 'x')] }, options)), { kind: 'notFound' });
});

test('a connector whose credential cannot be decrypted does not affect tools of others', async (t) => {
  const unit = await actionUnit(t);
  const server = await scriptedServer(t);
  const ids = [await unit.createConnector(1, server.url), await unit.createConnector(1, server.url)];
  await unit.database.transact(1, ({ knex }) =>
    knex('mcp_connectors')
      .where({ id: ids[0] })
      .update({ apiKeySealed: Buffer.from('of a lost key') }),
  );
  const tools = ids.map((connectorId) => ({
    target: { $case: 'tool' as const, value: { connectorId, name: 'echo' } },
  }));
  const described = await unit.rpc.describeTools({ tools }, { caller: inTenant(1) });
  t.is(described.tools.length, 1);
  t.like(described.missing, [{ errorKind: 'CREDENTIAL_UNAVAILABLE' }]);
});

test("tools are described within the caller's time limit or the default", async (t) => {
  const unit = await actionUnit(t);
  const quick = await scriptedServer(t);
  const slow = await scriptedServer(t, { 'tools/list': () => undefined });
  const ids = [await unit.createConnector(1, quick.url), await unit.createConnector(1, slow.url)];
  const tools = ids.map((connectorId) => ({
    target: { $case: 'tool' as const, value: { connectorId, name: 'echo' } },
  }));
  const describe = (timeLimitMs: number, timeoutMs: number) =>
    unit.rpc.describeTools({ tools, timeLimitMs }, { caller: inTenant(1), timeoutMs });
  await describe(2_000, 2_000);
  for (const described of await Promise.all([describe(0, 5_000), describe(1_000, 1_000)])) {
    t.is(described.tools.length, 1);
    t.like(described.missing, [{ errorKind: 'CONNECTOR_UNREACHABLE' }]);
  }
});
