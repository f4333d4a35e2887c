import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type GatewayMesh, gatewayMesh } from './support/gateway-mesh.ts';
import { rawPost } from './support/raw-post.ts';

const from = (address: string) => ({ 'x-forwarded-for': address });
const typename = JSON.stringify({ query: '{ __typename }' });
const big = 'x'.repeat(12_000_000);
const resolvers = { agent: { Query: { agentConfigOptions: () => ({ ttsVoiceCatalogUrl: big }) } } };
const askBig = JSON.stringify({ query: '{ agentConfigOptions { ttsVoiceCatalogUrl } }' });

/** Opens a connection with an unfinished request. The result reports whether the connection was closed. */
async function unfinished(t: ExecutionContext, { url }: GatewayMesh) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  let closed = false;
  socket.on('error', () => undefined);
  socket.once('close', () => {
    closed = true;
  });
  await once(socket, 'connect');
  socket.resume().write('POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Le');
  return { socket, closed: () => closed };
}

/** Requests a response of 12 MB and reads only its head. */
async function unread(t: ExecutionContext, mesh: GatewayMesh, address: string): Promise<Socket> {
  const authorization = `Bearer ${await mesh.identity.signIn('s-1')}`;
  const outgoing = request(mesh.url, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'x-app-platform': 'customer', authorization, ...from(address) },
  });
  t.teardown(() => outgoing.destroy());
  outgoing.on('error', () => undefined).end(askBig);
  const [response] = await once(outgoing, 'response');
  response.on('error', () => undefined);
  t.is(response.statusCode, 200);
  return response.socket;
}

test('connections are bounded in total and per client', async (t) => {
  const held = async (env: Record<string, string>) => {
    const mesh = await gatewayMesh(t, { env });
    const first = [await unfinished(t, mesh), await unfinished(t, mesh), await unfinished(t, mesh)];
    const more = await unfinished(t, mesh);
    await eventually('one more is closed', more.closed);
    for (const { closed } of first) t.false(closed());
    first[0]?.socket.destroy();
    await eventually('there is room again', async () =>
      rawPost(mesh.url, { body: [typename] }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  };
  await held({ GATEWAY_CONNECTIONS_PER_CLIENT: '3' });
  await held({ GATEWAY_MAX_CONNECTIONS: '3' });
});

test('behind a trusted proxy, requests in progress are bounded per client instead of connections', async (t) => {
  const mesh = await gatewayMesh(t, {
    env: { GATEWAY_CONNECTIONS_PER_CLIENT: '3', GATEWAY_REQUEST_TIMEOUT_MS: '6000', TRUSTED_PROXIES: '127.0.0.1' },
  });
  const waiting = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '10.0.0.1', '10.0.0.2', '10.0.0.3'].map((address) =>
    rawPost(mesh.url, { body: ['{"query":'], headers: { 'content-length': '100', ...from(address) }, ends: false }),
  );
  await eventually('one client has all of its requests', async () => {
    const { status } = await rawPost(mesh.url, { body: [typename], headers: from('2001:db8::9') });
    return status === 429;
  });
  const refused = await mesh.post(typename, from('2001:db8::9'));
  t.like(refused.errors, [{ extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } }]);
  t.is((await mesh.post(typename, from('10.0.0.1'))).status, 200);
  for (const { status } of await Promise.all(waiting)) t.is(status, 408);
  t.is((await mesh.post(typename, from('2001:db8::9'))).status, 200);
});

test('the bound on bodies also covers unfinished short bodies', async (t) => {
  const mesh = await gatewayMesh(t, {
    env: { GATEWAY_MAX_BODIES_BYTES: '800000', GATEWAY_REQUEST_TIMEOUT_MS: '6000', TRUSTED_PROXIES: '127.0.0.1' },
  });
  const hold = (address: string) =>
    rawPost(mesh.url, {
      body: ['x'.repeat(60_000)],
      headers: { 'content-length': '61000', ...from(address) },
      ends: false,
    });
  const busy = hold('10.0.0.1');
  const body = JSON.stringify({ query: '{ __typename }', variables: { v: 'x'.repeat(50_000) } });
  await eventually('its share is taken', async () => (await mesh.post(body, from('10.0.0.1'))).status === 429);
  t.is((await mesh.post(body, from('10.0.0.2'))).status, 200);
  const others = [2, 3, 4, 5, 6].map((n) => hold(`10.0.0.${n}`));
  await eventually('all of it is taken', async () => (await mesh.post(body, from('10.0.0.9'))).status === 503);
  t.is((await mesh.post(typename, from('10.0.0.9'))).status, 200);
  for (const { status } of await Promise.all([busy, ...others])) t.is(status, 408);
  await eventually('there is room again', async () => (await mesh.post(body, from('10.0.0.1'))).status === 200);
});

test('a body sent byte by byte counts with the overhead of its chunks', async (t) => {
  const mesh = await gatewayMesh(t, { env: { GATEWAY_MAX_BODIES_BYTES: '8000000' } });
  const chunks = '1\r\nx\r\n'.repeat(40_000);
  const { hostname, port } = new URL(mesh.url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (data) => {
    text += String(data);
  });
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-App-Platform: customer\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
  );
  await eventually('it is refused', () => text.startsWith('HTTP/1.1 429 '));
  t.is((await mesh.ask('{ __typename }')).status, 200);
});

test('a client with long unread responses gets no more of them, and others do', async (t) => {
  const mesh = await gatewayMesh(t, {
    resolvers,
    env: { GATEWAY_MAX_ANSWERS_BYTES: '60000000', TRUSTED_PROXIES: '127.0.0.1' },
  });
  const token = await mesh.identity.signIn('s-1');
  const slow = await unread(t, mesh, '10.0.0.1');
  const headers = { authorization: `Bearer ${token}`, ...from('10.0.0.1') };
  const refused = await mesh.post(askBig, headers);
  t.is(refused.status, 429);
  t.like(refused.errors, [{ extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } }]);
  t.is((await mesh.post(typename, headers)).status, 200, 'a short one is always sent');
  t.is((await mesh.post(askBig, { ...headers, ...from('10.0.0.2') })).text.length > big.length, true);
  slow.destroy();
  await eventually('the connection is closed', async () => (await mesh.post(askBig, headers)).status === 200);
});

test('the connection of an unread response is closed', async (t) => {
  const mesh = await gatewayMesh(t, {
    resolvers,
    env: { GATEWAY_MAX_ANSWERS_BYTES: '60000000', GATEWAY_ANSWER_STALL_MS: '3000' },
  });
  const headers = { authorization: `Bearer ${await mesh.identity.signIn('s-1')}` };
  await unread(t, mesh, '10.0.0.1');
  // Until the connection is closed, the unread response uses up the client's share.
  await eventually('it is cut', async () => (await mesh.post(askBig, headers)).status === 200);
});
