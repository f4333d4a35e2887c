import { randomUUID } from 'node:crypto';
import { createCallers } from '@parley/kernel/caller';
import { AdminServiceDefinition } from '@parley/protos/parley/action/v1/admin';
import { rpcClient } from '@parley/rpc/client';
import test from 'ava';
import { actionCalls, createAction, createConnector, echoingServer } from '../src/actions.ts';
import { idsOf, withCredentials } from '../src/credentials.ts';
import { foundIn, observe } from '../src/observe.ts';
import { operator } from '../src/operator.ts';
import { rowsOf } from '../src/stored-texts.ts';
import { stories } from '../src/stories.ts';

const story = stories(test);
/** These stories run on the mesh whose logs and spans are recorded. */
const observedStory = stories(test, { on: 'processes' });

const calls = '{ outboundCalls { id at kind target name status durationMs bytes errorKind } }';

story('a connector and an action can be changed, called and deleted only by their own tenant', async (t, mesh) => {
  const [ada, eve] = [await mesh.person(), await mesh.person()];
  const server = await echoingServer(t);
  const connector = await createConnector(ada, { serverUrl: `${server.url}/mcp` });
  const action = await createAction(ada, { url: `${server.url}/orders`, method: 'GET' });
  const tools = await ada.value('query ($id: Int!) { listMcpTools(connectorId: $id) { name changedAt } }', {
    id: connector,
  });
  t.deepEqual(tools, [{ name: 'echo', changedAt: null }]);
  const changed = 'mutation ($input: UpdateMcpConnectorInput!) { updateMcpConnector(input: $input) { name } }';
  t.deepEqual(await ada.value(changed, { input: { id: connector, name: 'Renamed' } }), { name: 'Renamed' });
  const moved = 'mutation ($input: UpdateCustomActionInput!) { updateCustomAction(input: $input) { method } }';
  t.deepEqual(await ada.value(moved, { input: { id: action, method: 'put' } }), { method: 'PUT' });
  t.deepEqual(await ada.value('{ certifiedOperations { key } }'), []);

  const { callAction, callTool } = await actionCalls(t, mesh);
  const [{ tenantId }, { tenantId: eves }] = [await idsOf(ada), await idsOf(eve)];
  t.like(await callAction(tenantId, action), { errorKind: '', status: 200 });
  t.like(await callTool(tenantId, connector, 'echo'), { errorKind: '' });
  t.like(await callAction(eves, action), { errorKind: 'NOT_FOUND' });
  t.like(await callTool(eves, connector, 'echo'), { errorKind: 'NOT_FOUND' });
  const entries = await ada.value<{ kind: string; name: string; errorKind: string | null }[]>(calls);
  t.deepEqual(
    entries.map(({ kind, name, errorKind }) => [kind, name, errorKind]),
    [
      ['TOOL', 'echo', null],
      ['ACTION', 'Order', null],
      ['TOOL_LIST', 'Tools', null],
    ],
  );
  t.deepEqual(
    (await eve.value<{ errorKind: string }[]>(calls)).map(({ errorKind }) => errorKind),
    ['NOT_FOUND', 'NOT_FOUND'],
  );

  t.true(await ada.value('mutation ($id: Int!) { deleteMcpConnector(id: $id) }', { id: connector }));
  t.true(await ada.value('mutation ($id: Int!) { deleteCustomAction(id: $id) }', { id: action }));
  t.like(await callAction(tenantId, action), { errorKind: 'NOT_FOUND' });
});

story('of two concurrent deletions one succeeds, and concurrent changes are both kept', async (t, mesh) => {
  const ada = await mesh.person();
  const ids = [await createConnector(ada), await createAction(ada)];
  const update = 'mutation ($input: UpdateCustomActionInput!) { updateCustomAction(input: $input) { id } }';
  await Promise.all([
    ada.value(update, { input: { id: ids[1], name: 'Named' } }),
    ada.value(update, { input: { id: ids[1], description: 'Described' } }),
  ]);
  t.deepEqual(await ada.value('{ customActions { name description } }'), [{ name: 'Named', description: 'Described' }]);
  const deletions = [
    'mutation ($id: Int!) { deleteMcpConnector(id: $id) }',
    'mutation ($id: Int!) { deleteCustomAction(id: $id) }',
  ];
  for (const [n, remove] of deletions.entries()) {
    const answers = await Promise.all([ada, ada].map((client) => client.send(remove, { id: ids[n] })));
    const codes = answers.map(({ errors }) => errors?.[0]?.extensions.code ?? 'ok');
    t.deepEqual(codes.toSorted(), ['NOT_FOUND', 'ok'], remove);
  }
});

story('the outbound guard refuses hosts that are not public, for actions and for tools', async (t, mesh) => {
  const ada = await mesh.person();
  const { tenantId } = await idsOf(ada);
  const make = 'mutation ($input: CreateCustomActionInput!) { createCustomAction(input: $input) { id } }';
  for (const url of [
    'http://127.0.0.1/',
    'http://169.254.169.254/latest',
    'http://[::ffff:10.0.0.1]/',
    'http://0x7f.1/',
    'file:///etc/passwd',
    'http://u:p@example.com/',
  ]) {
    const { errors } = await ada.send(make, { input: { name: 'x', url } });
    t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', fields: [{ path: 'input.url' }] }, url);
    const connector = { name: 'x', serverUrl: url, apiKey: 'key' };
    const refused = await ada.send(
      'mutation ($input: CreateMcpConnectorInput!) { createMcpConnector(input: $input) { id } }',
      { input: connector },
    );
    t.like(refused.errors?.[0]?.extensions, { code: 'BAD_REQUEST', fields: [{ path: 'input.serverUrl' }] }, url);
  }
  // The host name in a URL is resolved and checked only when the action or connector is called.
  const { callAction, callTool } = await actionCalls(t, mesh);
  const action = await createAction(ada, { url: 'http://localhost/orders' });
  const connector = await createConnector(ada, { serverUrl: 'http://localhost/mcp' });
  for (const result of [await callAction(tenantId, action), await callTool(tenantId, connector, 'echo')])
    t.regex(result?.errorKind ?? '', /^(HOST_NOT_PUBLIC|REMOTE_UNREACHABLE|CONNECTOR_UNREACHABLE)$/u);
});

observedStory('no credential of any kind is in a response, log line, span, metric or row', async (t, mesh) => {
  const observed = observe(mesh);
  const ada = await mesh.person();
  const { tenantId } = await idsOf(ada);
  const server = await echoingServer(t);
  const secrets: string[] = [];
  const canary = (name: string) => {
    secrets.push(`canary-${name}-${randomUUID()}`);
    return secrets.at(-1) ?? '';
  };
  const admin = rpcClient({
    definition: AdminServiceDefinition,
    unit: 'action',
    address: () => mesh.addresses('action', 'rpc')[0] ?? '',
    callers: createCallers(withCredentials(mesh).operatorKey),
  });
  await admin.start();
  t.teardown(() => admin.stop());
  await admin.calls.putPartnerCredential(
    { tenantId, partner: 'PARTNER_B', value: canary('partner') },
    { caller: operator },
  );
  const { action: provisioned } = await admin.calls.createPartnerAction(
    { tenantId, source: 'PARTNER_B', name: 'Partner', url: `${server.url}/partner` },
    { caller: operator },
  );

  const url = (path: string) => `${server.url}/${path}`;
  const actions = [
    await createAction(ada, { url: url('plain') }),
    await createAction(ada, { url: url('bearer'), bearerToken: canary('bearer') }),
    await createAction(ada, { url: url('header'), bearerToken: canary('header'), credentialSecretHeaderName: 'X-Key' }),
    await createAction(ada, {
      url: url('messaging'),
      messagingAppId: 'app',
      messagingAppSecret: canary('messaging'),
    }),
    await createAction(ada, { url: url('session'), credentialSource: 'SESSION_PARTNER_A' }),
    provisioned?.id ?? 0,
  ];
  const connector = await createConnector(ada, { serverUrl: url('mcp'), apiKey: canary('key') });
  const { callAction, callTool } = await actionCalls(t, mesh);
  const linkedIdentities = [{ product: 'PARTNER_A', subject: 'ada-at-a' }];
  const answers: unknown[] = [];
  for (const id of actions) answers.push(await callAction(tenantId, id, { linkedIdentities }));
  answers.push(await callTool(tenantId, connector, 'echo'));
  t.deepEqual(server.seen.map(({ headers }) => headers.authorization ?? headers['x-key'] ?? '').slice(0, 6), [
    '',
    `Bearer ${secrets[1]}`,
    `${secrets[2]}`,
    'Bearer messaging-token-of-app',
    'Bearer PARTNER_A token of ada-at-a',
    `Bearer ${secrets[0]}`,
  ]);
  for (const answer of answers) t.like(answer, { errorKind: '' });
  t.is(await callAction(tenantId, actions[4] ?? 0).then((result) => result?.errorKind), 'IDENTITY_NOT_LINKED');
  answers.push(
    await ada.value('{ customActions { name url extraHeaders credentialSource credentialSecretHeaderName } }'),
    await ada.value('{ mcpConnectors { name serverUrl } }'),
    await ada.value(calls),
  );
  await observed.allWritten();
  const texts = { ...(await observed.written()), ...(await rowsOf(mesh)), answers: JSON.stringify(answers) };
  t.deepEqual(foundIn(texts, [...secrets, 'PARTNER_A token of', 'messaging-token-of-app']), []);
});
