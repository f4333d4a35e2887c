import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { secondMs } from './support/second.ts';
import { openSocket, sessionEventsQuery } from './support/socket.ts';

const platform = { 'x-app-platform': 'customer' };

test('a socket without the platform, or with a bad credential, is closed with 4403', async (t) => {
  const { url, identity } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const suspended = await identity.signIn('s-2', { tenantSuspended: true });
  identity.addApiKey('sk_closed', { apiKeyId: 1, tenantId: 1, tenantSuspended: true });
  const bad: Record<string, Record<string, unknown>> = {
    'no platform': { authorization: `Bearer ${token}` },
    'another platform': { 'x-app-platform': 'admin', authorization: `Bearer ${token}` },
    'a platform that is no text': { 'x-app-platform': ['customer'], authorization: `Bearer ${token}` },
    'an ended token': { ...platform, authorization: `Bearer ${await identity.key.token('s-1', { exp: 1 })}` },
    garbage: { ...platform, authorization: 'Bearer garbage' },
    'a session token that is none': { ...platform, authorization: 'Bearer pst1.a.b.c' },
    'a revoked sign-in': { ...platform, authorization: `Bearer ${await identity.key.token('absent')}` },
    'a suspended tenant': { ...platform, authorization: `Bearer ${suspended}` },
    'a wrong API key': { ...platform, 'x-api-key': 'sk_wrong' },
    "a suspended tenant's API key": { ...platform, 'x-api-key': 'sk_closed' },
    'a good token beside a wrong key': { ...platform, authorization: `Bearer ${token}`, 'x-api-key': 'sk_wrong' },
  };
  for (const [name, parameters] of Object.entries(bad)) {
    const socket = openSocket(t, url, parameters);
    t.is(await eventually(`${name} is refused`, socket.closed), 4403, name);
  }
});

test('a socket with a good credential of any kind is opened', async (t) => {
  const { url, identity } = await gatewayMesh(t);
  identity.addApiKey('sk_right', { apiKeyId: 1, tenantId: 1, tenantSuspended: false });
  for (const credential of [
    { authorization: `Bearer ${await identity.signIn('s-1')}` },
    { Authorization: `bearer ${await identity.signIn('s-1')}` },
    { 'x-api-key': 'sk_right' },
  ]) {
    const socket = openSocket(t, url, { ...platform, ...credential });
    await socket.settled();
    t.is(socket.closed(), undefined);
  }
});

test('a socket that sends nothing or speaks another protocol is closed', async (t) => {
  const { url } = await gatewayMesh(t, { env: { GATEWAY_SOCKET_INIT_TIMEOUT_MS: '50' } });
  const closeCode = (protocols: string[], path = url) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(path.replace('http', 'ws'), protocols);
      socket.addEventListener('close', ({ code }) => resolve(code));
    });
  t.is(await closeCode(['graphql-transport-ws']), 4408);
  t.not(await closeCode(['graphql-ws']), 1000);
  t.is(await closeCode(['graphql-transport-ws'], `${url}/other`), 1006, 'there is no socket there');
});

test('sockets carry subscriptions only: nothing else runs there', async (t) => {
  const { url, identity, reached } = await gatewayMesh(t, { resolvers: { agent: { Query: { agentCount: () => 2 } } } });
  const token = await identity.signIn('s-1');
  const socket = openSocket(t, url, { ...platform, authorization: `Bearer ${token}` });
  for (const query of [
    '{ agentCount }',
    '{ __typename }',
    '{ __schema { types { name } } }',
    'mutation { deleteTenant }',
  ]) {
    const { ended, results } = socket.subscribe(query);
    t.like(await eventually(`${query} is refused`, ended), [{ extensions: { code: 'BAD_REQUEST', statusCode: 400 } }]);
    t.is(results.length, 0);
  }
  t.is(reached.length, 0);
  t.is(socket.closed(), undefined);
});

test("invalid documents get errors in the contract's shape, and the socket stays open", async (t) => {
  const { url, identity } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  const socket = openSocket(t, url, { ...platform, authorization: `Bearer ${token}` });
  const events = (selection: string) => `subscription { sessionEvents(sessionId: 1) { ${selection} } }`;
  const cases: [string, Record<string, unknown>, string][] = [
    ['subscription {', {}, 'GRAPHQL_PARSE_FAILED'],
    [events('__typename '.repeat(3_000)), {}, 'GRAPHQL_PARSE_FAILED'],
    [events('nothing'), {}, 'GRAPHQL_VALIDATION_FAILED'],
    [
      `subscription { a: sessionEvents(sessionId: 1) { eventId } b: sessionEvents(sessionId: 2) { eventId } }`,
      {},
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [sessionEventsQuery, {}, 'BAD_USER_INPUT'],
    [sessionEventsQuery, { sessionId: 1, after: 7 }, 'BAD_USER_INPUT'],
  ];
  for (const [query, variables, code] of cases) {
    const { ended } = socket.subscribe(query, variables);
    t.like(await eventually(`${query} is refused`, ended), [{ extensions: { code, statusCode: 400 } }]);
  }
  const skipped = socket.subscribe('subscription { sessionEvents(sessionId: 1) @skip(if: true) { eventId } }');
  await eventually('nothing to subscribe to', skipped.ended);
  t.is(socket.closed(), undefined);
});

test('a socket without a credential cannot subscribe', async (t) => {
  const { url, session } = await gatewayMesh(t);
  const socket = openSocket(t, url, platform);
  const { ended } = socket.subscribe(sessionEventsQuery, { sessionId: 1 });
  t.like(await eventually('it is refused', ended), [{ extensions: { code: 'UNAUTHENTICATED', statusCode: 401 } }]);
  t.is(session.opened.length, 0);
});

test('revoking a sign-in closes its sockets and no others', async (t) => {
  const { url, identity, session, announce } = await gatewayMesh(t);
  const open = async (sid: string, userId: number, tenantId: number) => {
    const authorization = `Bearer ${await identity.signIn(sid, { userId, tenantId })}`;
    const socket = openSocket(t, url, { ...platform, authorization });
    socket.subscribe(sessionEventsQuery, { sessionId: 1 });
    return socket;
  };
  const sockets = [await open('s-1', 1, 1), await open('s-2', 1, 1), await open('s-3', 2, 2), await open('s-4', 3, 3)];
  await eventually('all are subscribed', () => session.open() === 4);

  identity.asked.length = 0;
  identity.signIns.delete('s-1');
  const revokedAt = performance.now();
  await announce({ $case: 'signInId', value: 's-1' });
  t.is(await eventually('the socket is closed', sockets[0]?.closed ?? (() => 0)), 4403);
  t.true(performance.now() - revokedAt < secondMs, `${performance.now() - revokedAt} ms`);
  await eventually('its stream is cancelled', () => session.open() === 3);
  // The periodic check asks identity about all open sockets in one batch. This check may have found the revoked sign-in before the
  // announcement arrived.
  const others = identity.asked.filter((question) => question.startsWith('signIn ') && question !== 'signIn s-1');
  t.deepEqual(others, [], 'no other sign-in is looked up by itself');

  identity.signIns.delete('s-2');
  await announce({ $case: 'userId', value: 1 });
  t.is(await eventually('the socket is closed', sockets[1]?.closed ?? (() => 0)), 4403);
  await identity.signIn('s-3', { userId: 2, tenantId: 2, tenantSuspended: true });
  await announce({ $case: 'tenantId', value: 2 });
  t.is(await eventually('the socket is closed', sockets[2]?.closed ?? (() => 0)), 4403);
  await eventually('one stream is left', () => session.open() === 1);
  t.is(sockets[3]?.closed(), undefined);
});

test('a socket stays open after its access token expires, as long as its sign-in is valid', async (t) => {
  const { url, identity, session, announce } = await gatewayMesh(t);
  await identity.signIn('s-1');
  const endsAt = Math.ceil(Date.now() / 1000) + 5; // the token expires only after the socket has opened, also on a busy machine
  const token = await identity.key.token('s-1', { exp: endsAt });
  const socket = openSocket(t, url, { ...platform, authorization: `Bearer ${token}` });
  await socket.settled();
  await eventually('the token has ended', () => Date.now() > endsAt * 1000);
  await announce({ $case: 'signInId', value: 's-1' });
  socket.subscribe(sessionEventsQuery, { sessionId: 1 });
  await eventually('it is subscribed', () => session.open() === 1);
  t.is(socket.closed(), undefined);

  identity.signIns.delete('s-1');
  await announce({ $case: 'signInId', value: 's-1' });
  t.is(await eventually('the socket is closed', socket.closed), 4403);
});

test('while identity is unavailable no socket is closed; those revoked meanwhile close once it is back', async (t) => {
  const { url, identity, announce } = await gatewayMesh(t);
  const good = openSocket(t, url, { ...platform, authorization: `Bearer ${await identity.signIn('s-1')}` });
  const revoked = openSocket(t, url, { ...platform, authorization: `Bearer ${await identity.signIn('s-2')}` });
  await Promise.all([good.settled(), revoked.settled()]);
  identity.away = true;
  identity.signIns.delete('s-2');
  identity.asked.length = 0;
  await announce({ $case: 'userId', value: 1 });
  await eventually('both were looked at', () => identity.asked.length >= 2);
  t.is(revoked.closed(), undefined);
  identity.away = false;
  t.is(await eventually('the revoked one is closed', revoked.closed), 4403);
  t.is(good.closed(), undefined);
});

test('a new socket whose credential cannot be checked is closed with a code for which clients reconnect', async (t) => {
  const { url, identity } = await gatewayMesh(t);
  identity.addApiKey('sk_1', { apiKeyId: 1, tenantId: 1, tenantSuspended: false });
  identity.away = true;
  for (const apiKey of ['sk_1', 'sk_wrong']) {
    const socket = openSocket(t, url, { ...platform, 'x-api-key': apiKey });
    t.is(await eventually('it is closed', socket.closed), 1013, apiKey);
  }
  identity.away = false;
  const socket = openSocket(t, url, { ...platform, 'x-api-key': 'sk_1' });
  await socket.settled();
  t.is(socket.closed(), undefined);
});

test('subscriptions and frame size of a socket are bounded', async (t) => {
  const { url, identity, session } = await gatewayMesh(t);
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  const socket = openSocket(t, url, { ...platform, authorization });
  const subscribed = Array.from({ length: 50 }, () => socket.subscribe(sessionEventsQuery, { sessionId: 1 }));
  await eventually('all are open', () => session.open() === 50);
  const refused = socket.subscribe(sessionEventsQuery, { sessionId: 1 });
  t.like(await eventually('the 51st is refused', refused.ended), [
    { extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } },
  ]);
  subscribed[0]?.leave();
  await eventually('one has left', () => session.open() === 49);
  socket.subscribe(sessionEventsQuery, { sessionId: 1 });
  await eventually('another takes its place', () => session.open() === 50);

  socket.subscribe(`${sessionEventsQuery} # ${'x'.repeat(300_000)}`, { sessionId: 1 });
  t.is(await eventually('the socket is closed', socket.closed), 1009);
  await eventually('all streams are cancelled', () => session.open() === 0);
});

test('a stopping server closes its sockets with 1001 without waiting for slow clients', async (t) => {
  const { url, identity, session, stop } = await gatewayMesh(t);
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  const sockets = Array.from({ length: 3 }, () => openSocket(t, url, { ...platform, authorization }));
  const subscribed = sockets.map((socket) => socket.subscribe(sessionEventsQuery, { sessionId: 1 }));
  await eventually('all are subscribed', () => session.open() === 3);
  const started = performance.now();
  await stop();
  t.true(performance.now() - started < 9_000, 'answers under way would have 10 s');
  for (const { closed } of sockets) t.is(await eventually('it is closed', closed), 1001);
  await eventually('all streams are cancelled', () => session.open() === 0);
  t.is(subscribed.length, 3);
});
