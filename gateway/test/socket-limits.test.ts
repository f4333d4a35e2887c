import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { FollowResponse } from '@parley/protos/parley/live/v1/subscriptions';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { type GatewayMesh, gatewayMesh } from './support/gateway-mesh.ts';
import { finishedEvent } from './support/session-script.ts';
import { openSocket, sessionEventsQuery } from './support/socket.ts';

const platform = { 'x-app-platform': 'customer' };
const subscribeMessage = (id: string, query = sessionEventsQuery, variables: object = { sessionId: '1' }) =>
  JSON.stringify({ id, type: 'subscribe', payload: { query, variables } });

interface RawSocket {
  socket: WebSocket;
  messages: { type: string; id?: string; payload?: unknown }[];
  closed: () => number | undefined;
}

/** Opens an acknowledged socket on which the test writes each frame. */
async function rawSocket(t: ExecutionContext, { url, identity }: GatewayMesh, address?: string): Promise<RawSocket> {
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  const headers = address === undefined ? {} : { 'x-forwarded-for': address };
  const socket = new WebSocket(url.replace('http', 'ws'), 'graphql-transport-ws', { headers });
  t.teardown(() => socket.terminate());
  const messages: RawSocket['messages'] = [];
  let closed: number | undefined;
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString())));
  socket.on('close', (code) => {
    closed = code;
  });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: { ...platform, authorization } }));
  await eventually('it is acknowledged', () => messages.some(({ type }) => type === 'connection_ack'));
  return { socket, messages, closed: () => closed };
}

/**
 * Returns the possible close codes: `code`, or 1006 if the client was disconnected before it received the reason, because it was sending or
 * did not read.
 */
const closeOrCut = (code: number) => [code, 1006];

function chunk(i: number, text: string): FollowResponse {
  const fields = { sessionId: 1, turnIndex: 1, attempt: 1, text };
  return finishedEvent('AiResponseChunkEvent', { eventId: `1-${i}`, occurredAt: new Date(), ...fields });
}

test('starts of subscriptions are queued per client without delaying others; a full queue refuses, and an unsubscribed one leaves it', async (t) => {
  const mesh = await gatewayMesh(t, {
    env: { TRUSTED_PROXIES: '127.0.0.1', GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '1', GATEWAY_SOCKETS_PER_CLIENT: '2' },
    longestStartMs: 60_000,
  });
  const { session } = mesh;
  const gate = createGate();
  session.beforeFollowing = gate.pass;
  const begun = () => session.opened.map(({ request }) => request.sessionId);
  const metrics = async () => (await fetch(`${mesh.addresses.of('gateway', 'ops')}/metrics`)).text();
  const waiting = async () => Number(/^parley_subscriptions_waiting\S* (\d+)$/mu.exec(await metrics())?.[1]);
  const subscribe = ({ socket }: RawSocket, id: string) =>
    socket.send(subscribeMessage(id, undefined, { sessionId: id }));

  const busy = await rawSocket(t, mesh, '10.0.0.1');
  // One subscription starts immediately. For each of the client's two sockets, five more may wait.
  for (let id = 1; id <= 12; id += 1) subscribe(busy, String(id));
  const refused = () => busy.messages.filter(({ type }) => type === 'error');
  await eventually('one too many is refused', () => refused().length > 0);
  t.like(refused(), [{ id: '12', payload: [{ extensions: { code: 'TOO_MANY_REQUESTS' } }] }]);
  t.is(refused().length, 1);
  busy.socket.send(JSON.stringify({ id: '2', type: 'complete' }));
  await eventually('it waits no more', async () => (await waiting()) === 9);
  busy.socket.send(JSON.stringify({ id: '1', type: 'complete' })); // a start that has begun is not cancelled
  subscribe(await rawSocket(t, mesh, '10.0.0.2'), '20');
  await eventually("the other client's starts", () => begun().includes('20'));
  t.deepEqual(begun(), ['1', '20']);

  const other = await rawSocket(t, mesh, '10.0.0.1');
  subscribe(other, '21');
  await eventually('another socket of the client waits as well', async () => (await waiting()) === 10);
  t.is(busy.closed(), undefined);
  busy.socket.close();
  await eventually('with their socket the others go', async () => (await waiting()) === 1);
  gate.open();
  await eventually('the next begins', () => begun().includes('21'));
  t.deepEqual(begun(), ['1', '20', '21']);
});

test('a burst of subscriptions from one client delays one of another by only a few of them', async (t) => {
  const mesh = await gatewayMesh(t, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
  const otherClient = await rawSocket(t, mesh, '10.0.0.2');
  const busy = await Promise.all(Array.from({ length: 4 }, () => rawSocket(t, mesh, '10.0.0.1')));
  const refused = () => busy.reduce((sum, { messages }) => sum + messages.filter(isError).length, 0);
  for (const [n, { socket }] of busy.entries()) {
    for (let id = 0; id < 50; id += 1) socket.send(subscribeMessage(String(id), `subscription A${n}B${id} { none }`));
  }
  otherClient.socket.send(subscribeMessage('1', 'subscription { none }'));
  await eventually('the other client is answered', () => otherClient.messages.some(isError));
  t.true(refused() < 100, `${refused()}`);
  await eventually('all are answered', () => refused() === 200);
});

test('frames of any kind from the sockets of one client delay one of another by only a few of them', async (t) => {
  const mesh = await gatewayMesh(t, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
  const otherClient = await rawSocket(t, mesh, '10.0.0.2');
  const busy = await Promise.all(Array.from({ length: 8 }, () => rawSocket(t, mesh, '10.0.0.1')));
  const pongs = () => busy.reduce((sum, { messages }) => sum + messages.filter(isPong).length, 0);
  for (const { socket } of busy) for (let n = 0; n < 150; n += 1) socket.send('{"type":"ping"}');
  otherClient.socket.send('{"type":"ping"}');
  await eventually('the other client is answered', () => otherClient.messages.some(isPong));
  t.true(pongs() < 400, `${pongs()}`);
  await eventually('all are answered', () => pongs() === 1_200);
});

test('a socket whose operations are refused again and again is closed, and another of its client is not', async (t) => {
  const mesh = await gatewayMesh(t, { env: { GATEWAY_SOCKET_SUBSCRIPTIONS: '1' } });
  const [greedy, other] = [await rawSocket(t, mesh), await rawSocket(t, mesh)];
  for (let id = 0; id < 150; id += 1) greedy.socket.send(subscribeMessage(String(id)));
  t.is(await eventually('it is closed', greedy.closed), 4429);
  for (const id of ['1', '2', '3']) other.socket.send(subscribeMessage(id));
  await eventually('two are refused', () => other.messages.filter(isError).length === 2);
  t.is(other.closed(), undefined);
});

const isPong = ({ type }: { type: string }) => type === 'pong';
const isError = ({ type }: { type: string }) => type === 'error';

test('a subscription counts as started when its service says so, before any event', async (t) => {
  const mesh = await gatewayMesh(t, { env: { GATEWAY_SUBGRAPH_CALLS_PER_CLIENT: '1' }, longestStartMs: 60_000 });
  const { socket } = await rawSocket(t, mesh);
  const ids = ['1', '2', '3'];
  for (const id of ids) socket.send(subscribeMessage(id, undefined, { sessionId: id }));
  await eventually('all have begun', () => mesh.session.opened.length === ids.length);
  t.deepEqual(
    mesh.session.opened.map(({ request }) => String(request.sessionId)),
    ids,
  );
});

test('a flood of messages closes only its socket, and all of its streams', async (t) => {
  const mesh = await gatewayMesh(t);
  const calm = openSocket(t, mesh.url, { ...platform, authorization: `Bearer ${await mesh.identity.signIn('s-2')}` });
  const stays = calm.subscribe(sessionEventsQuery, { sessionId: 1 });
  await eventually('one is subscribed', () => mesh.session.open() === 1);
  const floods: Record<string, (i: number) => string> = {
    'subscribe and complete': (i) => (i % 2 ? `{"id":"${i - 1}","type":"complete"}` : subscribeMessage(String(i))),
    'documents never seen': (i) =>
      subscribeMessage(String(i), `subscription q${i} { sessionEvents(sessionId: 1) { x${i} } }`),
    pings: () => '{"type":"ping"}',
    'completes of nothing': (i) => `{"id":"${i}","type":"complete"}`,
  };
  for (const [name, message] of Object.entries(floods)) {
    const { socket, messages, closed } = await rawSocket(t, mesh);
    for (let i = 0; i < 10_000; i++) socket.send(message(i));
    t.is(await eventually(`${name} is closed`, closed), 4429, name);
    t.true(messages.length < 500, name);
  }
  const { socket, closed } = await rawSocket(t, mesh);
  for (let i = 0; i < 10_000; i++) socket.ping();
  t.true(closeOrCut(4429).includes(await eventually('a flood of ping frames is closed', closed)));

  await eventually('only the calm one is left', () => mesh.session.open() === 1);
  mesh.session.send(chunk(1, 'Hello'));
  await eventually('it still receives', () => stays.results.length === 1);
  t.is(calm.closed(), undefined);
});

test('invalid frames close the socket and do not harm the gateway', async (t) => {
  const mesh = await gatewayMesh(t);
  for (const frame of [
    '',
    'x',
    '[]',
    'null',
    '{"type":"subscribe"}',
    '{"type":"connection_init"}',
    `{"id":"${'['.repeat(1_000)}`,
    '{"type":"next","id":"x","payload":{}}',
    String.raw`{"type":"\u006eext","id":"x","payload":{}}`,
    '{"type":"error","id":"x","payload":[{"message":"m"}]}',
    '{"type":"connection_ack"}',
  ]) {
    const { socket, closed } = await rawSocket(t, mesh);
    socket.send(frame);
    const code = await eventually(`${frame.slice(0, 20)} is refused`, closed);
    t.true(code >= 4400 && code < 4500, `${frame.slice(0, 20)} ${code}`);
  }
  const { socket, closed } = await rawSocket(t, mesh);
  socket.send(Buffer.alloc(300_000));
  t.is(await eventually('a frame that is too large is refused', closed), 1009);
  t.is((await mesh.ask('{ __typename }')).status, 200);
});

test('the limits on documents and strings apply to subscriptions', async (t) => {
  const { url, identity, session } = await gatewayMesh(t);
  const socket = openSocket(t, url, { ...platform, authorization: `Bearer ${await identity.signIn('s-1')}` });
  const events = (selection: string) => `subscription { sessionEvents(sessionId: 1) { ${selection} } }`;
  const cases: [string, Record<string, unknown> | undefined, Record<string, unknown>][] = [
    [events(Array.from({ length: 50 }, (_, i) => `a${i}: eventId`).join(' ')), undefined, { code: 'COMPLEXITY_LIMIT' }],
    [events(`${'a { '.repeat(7)}b${' }'.repeat(7)}`), undefined, { code: 'DEPTH_LIMIT' }],
    [events('... { __typename } '.repeat(200)), undefined, { code: 'COMPLEXITY_LIMIT' }],
    [
      sessionEventsQuery,
      { sessionId: 1, after: '\0' },
      { code: 'BAD_REQUEST', fields: [{ path: 'after', message: 'must not hold the character NUL' }] },
    ],
  ];
  for (const [query, variables, extensions] of cases) {
    const { ended } = socket.subscribe(query, variables);
    t.like(await eventually(`${query} is refused`, ended), [{ extensions: { ...extensions, statusCode: 400 } }]);
  }
  t.is(socket.closed(), undefined);
  t.is(session.opened.length, 0);
});

test('a reader that is 1 MB behind is closed, and others continue', async (t) => {
  const mesh = await gatewayMesh(t);
  const quick = openSocket(t, mesh.url, { ...platform, authorization: `Bearer ${await mesh.identity.signIn('s-2')}` });
  const received = quick.subscribe(sessionEventsQuery, { sessionId: 1 });
  const { socket, closed } = await rawSocket(t, mesh);
  // The slow reader follows a session that nobody else follows. So it shares no stream, and the end of its stream is visible.
  socket.send(subscribeMessage('slow', sessionEventsQuery, { sessionId: '2' }));
  await eventually('both are subscribed', () => mesh.session.open() === 2);
  socket.pause();
  const text = 'x'.repeat(50_000);
  let sent = 0;
  // System buffers hold part of the data, so more than 1 MB is sent.
  await eventually('its stream is over', () => {
    if (received.results.length === sent && sent < 2_000) {
      mesh.session.send(...Array.from({ length: 20 }, () => chunk(++sent, text)));
    }
    return mesh.session.open() === 1;
  });
  socket.resume();
  t.true(closeOrCut(4408).includes(await eventually('the slow reader is disconnected', closed)));
  await eventually('the quick reader has all', () => received.results.length === sent);
  t.is(quick.closed(), undefined);
});

test('a replay waits for a slow reader, over all its subscriptions, without being buffered', async (t) => {
  const mesh = await gatewayMesh(t);
  const { socket, messages, closed } = await rawSocket(t, mesh);
  const subscriptions = 20;
  for (let i = 0; i < subscriptions; i++)
    socket.send(subscribeMessage(String(i), sessionEventsQuery, { sessionId: '1', after: '0' }));
  await eventually('all are subscribed', () => mesh.session.open() === subscriptions);
  socket.pause();
  const text = 'x'.repeat(64_000);
  const each = 40; // 50 MB in all: more than any system keeps in the buffers of one connection
  const longAgo = new Date(Date.now() - 60_000);
  mesh.session.send(...Array.from({ length: each }, (_, i) => ({ ...chunk(i, text), occurredAt: longAgo })));
  let before = -1;
  let polls = 0;
  await eventually('nothing moves any more', () => {
    polls = mesh.session.handedOn === before ? polls + 1 : 0;
    before = mesh.session.handedOn;
    return before > 0 && polls > 20;
  });
  t.true(mesh.session.handedOn < subscriptions * each, `${mesh.session.handedOn}`);
  socket.resume();
  await eventually(
    'all has arrived',
    () => messages.filter(({ type }) => type === 'next').length === subscriptions * each,
  );
  t.is(closed(), undefined);
  mesh.session.send(chunk(each, 'now'));
  await eventually(
    'live goes on',
    () => messages.filter(({ type }) => type === 'next').length === subscriptions * (each + 1),
  );
});

/** Opens a socket that never replies to a ping. */
async function deafSocket(t: ExecutionContext, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(
    `GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  await once(socket, 'data');
  return socket;
}

test('a peer that answers no ping is disconnected', async (t) => {
  const mesh = await gatewayMesh(t, {
    env: { GATEWAY_SOCKET_PING_MS: '2000', GATEWAY_SOCKET_INIT_TIMEOUT_MS: '60000' },
  });
  const alive = await rawSocket(t, mesh);
  const dead = await deafSocket(t, mesh.url);
  await once(dead.resume(), 'close');
  t.is(alive.closed(), undefined);
});

test('the sockets of a gateway are bounded', async (t) => {
  const mesh = await gatewayMesh(t, { env: { GATEWAY_MAX_SOCKETS: '3' } });
  const open = [await rawSocket(t, mesh), await rawSocket(t, mesh), await rawSocket(t, mesh)];
  const refused = new WebSocket(mesh.url.replace('http', 'ws'), 'graphql-transport-ws');
  const [error] = await once(refused, 'error');
  t.regex(String(error), /503/);
  open[0]?.socket.close();
  await eventually('one has left', open[0]?.closed ?? (() => undefined));
  await rawSocket(t, mesh);
  t.is(open[1]?.closed(), undefined);
});

test('the sockets of an address are bounded, apart from those of others', async (t) => {
  const mesh = await gatewayMesh(t, { env: { GATEWAY_SOCKETS_PER_CLIENT: '2', TRUSTED_PROXIES: '127.0.0.1' } });
  const from = (address: string) =>
    new WebSocket(mesh.url.replace('http', 'ws'), 'graphql-transport-ws', { headers: { 'x-forwarded-for': address } });
  const opened = async (address: string) => {
    const socket = from(address);
    t.teardown(() => socket.terminate());
    await once(socket, 'open');
    return socket;
  };
  const [first] = await Promise.all([opened('10.0.0.1'), opened('10.0.0.1')]);
  t.regex(String((await once(from('10.0.0.1'), 'error'))[0]), /429/);
  await opened('10.0.0.2');
  first.close();
  await eventually('one has left', async () => {
    const socket = from('10.0.0.1');
    t.teardown(() => socket.terminate());
    return once(socket, 'open').then(Boolean, () => false);
  });
});

test('a socket without a credential is closed', async (t) => {
  const { url, identity } = await gatewayMesh(t, { env: { GATEWAY_SOCKET_INIT_TIMEOUT_MS: '3000' } });
  const token = await identity.signIn('s-1');
  const known = openSocket(t, url, { ...platform, authorization: `Bearer ${token}` });
  const bare = openSocket(t, url, platform);
  await bare.settled();
  t.is(await eventually('it is closed', bare.closed), 4403);
  t.is(known.closed(), undefined);
});

test('requests refused by Node and refused handshakes have a request id and the error format of the API', async (t) => {
  const { url } = await gatewayMesh(t, { env: { GATEWAY_MAX_SOCKETS: '1', GATEWAY_REQUEST_TIMEOUT_MS: '1000' } });
  const { hostname, port } = new URL(url);
  const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\nHost: x\r\n';
  for (const [status, sent] of [
    [400, 'NO HTTP AT ALL\r\n\r\n'],
    [400, 'GET /graphql HTTP/1.1\r\n\r\n'],
    [408, 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Le'],
    [417, 'POST /graphql HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 0\r\n\r\n'],
    [405, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    [431, `GET /graphql HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(40_000)}\r\n\r\n`],
    [404, `GET /other HTTP/1.1\r\n${upgrade}\r\n`],
    [400, `GET /graphql HTTP/1.1\r\n${upgrade}\r\n`],
  ] as const) {
    const socket = connect(Number(port), hostname);
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write(sent);
    let text = '';
    socket.on('data', (data) => {
      text += String(data);
    });
    await once(socket, 'close');
    const [head = '', body = ''] = text.split('\r\n\r\n');
    t.true(head.startsWith(`HTTP/1.1 ${status} `), `${status}: ${head}`);
    t.regex(head, /x-request-id: \S+/i);
    t.like(JSON.parse(body), { errors: [{ extensions: { statusCode: status } }] });
  }
});
