import test from 'ava';
import { mcpServer } from '../../src/actions.ts';
import { recordExamples } from '../../src/api-examples.ts';
import { stories } from '../../src/stories.ts';

const story = stories(test);

const inputSchema = { type: 'object', properties: { orderId: { type: 'string' } }, required: ['orderId'] };
const tool = { name: 'find_order', description: 'Finds an order by its id.', inputSchema };

story('the examples of action are those on its page', async (t, mesh) => {
  const { send, refused, show, compare } = recordExamples('action');
  const ada = await mesh.person();
  const { url } = await mcpServer(t, { 'tools/list': () => ({ tools: [tool] }) });
  show(url, 'https://tools.example.com/mcp');

  const create = `mutation ($input: CreateMcpConnectorInput!) {
    createMcpConnector(input: $input) { id name serverUrl createdAt } }`;
  const { id } = await send<{ id: number }>(ada, create, {
    input: { name: 'Orders', serverUrl: url, apiKey: 'the key of that server' },
  });
  await refused(ada, create, { input: { name: ' ', serverUrl: 'http://127.0.0.1/', apiKey: 'key' } });
  await send(ada, 'query ($id: Int!) { mcpConnector(id: $id) { id name serverUrl } }', { id });
  await send(ada, '{ mcpConnectors { id name serverUrl } }');
  const list = `query ($connectorId: Int!) {
    listMcpTools(connectorId: $connectorId) { name description inputSchema changedAt } }`;
  await send(ada, list, { connectorId: id });
  await refused(ada, list, { connectorId: 900_000_001 });
  await send(ada, '{ outboundCalls { id at kind name status durationMs errorKind } }');
  await send(
    ada,
    'mutation ($input: UpdateMcpConnectorInput!) { updateMcpConnector(input: $input) { id name updatedAt } }',
    { input: { id, name: 'Orders and returns' } },
  );
  const remove = 'mutation ($id: Int!) { deleteMcpConnector(id: $id) }';
  await send(ada, remove, { id });
  await refused(ada, remove, { id });

  const createAction = `mutation ($input: CreateCustomActionInput!) {
    createCustomAction(input: $input) { id name method url argsSchema credentialSource } }`;
  const action = await send<{ id: number }>(ada, createAction, {
    input: {
      name: 'find_order',
      description: 'Finds an order by its id.',
      method: 'GET',
      url: 'https://shop.example.com/orders/{orderId}',
      argsSchema: inputSchema,
      bearerToken: 'the token of that API',
    },
  });
  await refused(ada, createAction, { input: { name: 'a', url: 'ftp://shop.example.com' } });
  await send(ada, '{ customActions { id name method url } }');
  const update = `mutation ($input: UpdateCustomActionInput!) {
    updateCustomAction(input: $input) { id description updatedAt } }`;
  await send(ada, update, { input: { id: action.id, description: 'Finds an order, and where it is.' } });
  await send(ada, 'mutation ($id: Int!) { deleteCustomAction(id: $id) }', { id: action.id });
  await send(ada, '{ certifiedOperations { key name method url compatibleCredentialSources } }');
  compare(t);
});
