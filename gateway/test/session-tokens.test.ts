import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { codesOf, gatewayMesh, type Resolvers } from './support/gateway-mesh.ts';
import { secondMs } from './support/second.ts';
import { finishedEvent } from './support/session-script.ts';
import { openSocket, sessionEventsQuery } from './support/socket.ts';

const resolvers: Record<'agent' | 'session', Resolvers> = {
  agent: { Query: { agentCount: () => 2 } },
  session: { Mutation: { interruptSession: () => true } },
};
const interrupt = 'mutation { interruptSession(sessionId: 7) }';
const platform = { 'x-app-platform': 'customer' };
const invalid = [
  { message: 'Invalid or expired avatar token', extensions: { code: 'UNAUTHENTICATED', statusCode: 401 } },
];

test('a session token makes the caller its session, in its tenant', async (t) => {
  const { ask, reached, sessionToken } = await gatewayMesh(t, { resolvers });
  const answer = await ask(interrupt, { token: sessionToken(7) });
  t.deepEqual(answer.data, { interruptSession: true });
  t.like(reached[0]?.caller, { kind: 'session', tenantId: 1, sessionId: 7, userId: undefined });
});

test('every invalid session token gets the same error', async (t) => {
  const { ask, identity, reached, session, sessionToken, voiceToken } = await gatewayMesh(t, { resolvers });
  const right = sessionToken(7);
  const [prefix, kid, payload = '', mac = ''] = right.split('.');
  const last = Buffer.from(mac, 'base64url');
  last[31] = (last[31] ?? 0) ^ 1;
  const other = JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sessionId: 8 });
  const unknown = sessionToken(9);
  session.statuses.delete(9);
  identity.tenants.set(2, { deleted: true });
  identity.tenants.set(3, 'absent');
  const wrong = {
    'for another session': [prefix, kid, Buffer.from(other).toString('base64url'), mac].join('.'),
    'of a key that is not in the ring': [prefix, 't2', payload, mac].join('.'),
    'with another mac': [prefix, kid, payload, last.toString('base64url')].join('.'),
    'with padding': `${right}=`,
    ended: sessionToken(7, { lifetimeMs: -1 }),
    'for speech': voiceToken(),
    'of a session that is not there': unknown,
    'of a deleted tenant': sessionToken(7, { tenantId: 2 }),
    'of a tenant that is not there': sessionToken(7, { tenantId: 3 }),
    'of the prefix alone': 'pst1.',
    'like a JWT': `pst1.${await identity.signIn('s-1')}`,
  };
  for (const [name, token] of Object.entries(wrong)) {
    const answer = await ask(interrupt, { token });
    t.is(answer.status, 200, name);
    t.deepEqual(answer.errors, invalid, name);
  }
  t.is(reached.length, 0);
  t.deepEqual((await ask(interrupt, { token: right })).data, { interruptSession: true });
});

test('every flipped bit of a session token is refused', async (t) => {
  const { ask, sessionToken } = await gatewayMesh(t, { resolvers });
  const right = Buffer.from(sessionToken(7));
  for (let at = 5; at < right.length; at += 1) {
    const flipped = Buffer.from(right);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 5)); // flips only low bits, so that most bytes stay valid in a header
    const token = flipped.toString('latin1');
    if (!/^[\x21-\x7e]+$/.test(token)) continue;
    t.deepEqual((await ask(interrupt, { token })).errors, invalid, `byte ${at}`);
  }
});

test('where session tokens are not accepted, they are ignored', async (t) => {
  const { ask, identity, sessionToken } = await gatewayMesh(t, { resolvers });
  const token = sessionToken(7);
  t.like((await ask('{ agentCount }', { token })).errors, [
    { message: 'Sign in with an access token', extensions: { code: 'UNAUTHENTICATED' } },
  ]);
  t.is(identity.asked.length, 0);
});

test('the token of an ended session is accepted, that of a suspended tenant refused', async (t) => {
  const { ask, identity, session, sessionToken, announce } = await gatewayMesh(t, { resolvers });
  const token = sessionToken(7);
  session.statuses.set(7, 'ENDED');
  t.deepEqual((await ask(interrupt, { token })).data, { interruptSession: true });
  identity.tenants.set(1, { suspended: true });
  await announce({ $case: 'tenantId', value: 1 });
  t.like((await ask(interrupt, { token })).errors, [
    { extensions: { code: 'FORBIDDEN', reason: 'TENANT_SUSPENDED', statusCode: 403 } },
  ]);
  identity.tenants.set(1, { deleted: true });
  await eventually(
    'the tenant is deleted',
    async () => codesOf(await ask(interrupt, { token }))[0] === 'UNAUTHENTICATED',
  );
});

test('session and tenant are looked up at most once a second', async (t) => {
  const { ask, identity, sessionToken } = await gatewayMesh(t, { resolvers });
  const token = sessionToken(7);
  const started = performance.now();
  await Promise.all(Array.from({ length: 30 }, () => ask(interrupt, { token })));
  t.true(identity.asked.length <= 1 + Math.ceil((performance.now() - started) / 1000), identity.asked.join());
});

test('while identity or session is unavailable, a session token is not invalid', async (t) => {
  const { ask, identity, sessionToken, stop } = await gatewayMesh(t, { resolvers });
  const token = sessionToken(7);
  identity.away = true;
  t.deepEqual(codesOf(await ask(interrupt, { token })), ['UNAVAILABLE']);
  identity.away = false;
  await stop('session rpc');
  t.deepEqual(codesOf(await ask(interrupt, { token: sessionToken(8) })), ['UNAVAILABLE']);
});

test('the caller of a subscription by session token names the session', async (t) => {
  const { url, session, sessionToken } = await gatewayMesh(t);
  const token = sessionToken(7);
  const socket = openSocket(t, url, { ...platform, authorization: `Bearer ${token}` });
  socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  await eventually('its own are open', () => session.open() === 1);
  t.like(session.opened[0]?.caller, { kind: 'session', sessionId: 7, tenantId: 1 });
});

test('a socket with a session token closes after the last events of its session', async (t) => {
  const { url, session, sessionToken, announce } = await gatewayMesh(t);
  const sockets = [7, 8].map((id) => openSocket(t, url, { ...platform, authorization: `Bearer ${sessionToken(id)}` }));
  const seen = sockets.map((socket, n) => socket.subscribe(sessionEventsQuery, { sessionId: 7 + n }));
  await eventually('both are subscribed', () => session.open() === 2);
  session.statuses.set(7, 'ENDED');
  const endedAt = performance.now();
  await announce({ $case: 'sessionId', value: 7 });
  const event = { eventId: '1-0', sessionId: 7, occurredAt: new Date(), status: 'ENDED' };
  session.send(finishedEvent('SessionStatusEvent', event));
  t.is(await eventually('it is closed', sockets[0]?.closed ?? (() => 0)), 4403);
  t.true(performance.now() - endedAt < secondMs, `${performance.now() - endedAt} ms`);
  t.like(seen[0]?.results[0]?.data, { sessionEvents: { status: 'ENDED' } });
  t.is(sockets[1]?.closed(), undefined);
});

test('a socket with a session token closes after the last events without an announcement too, and no new socket is admitted', async (t) => {
  const { url, session, sessionToken } = await gatewayMesh(t);
  const authorization = `Bearer ${sessionToken(7)}`;
  const socket = openSocket(t, url, { ...platform, authorization });
  await socket.settled();
  session.statuses.set(7, 'EXPIRED');
  const endedAt = performance.now();
  t.is(await eventually('it is closed', socket.closed), 4403);
  t.true(performance.now() - endedAt < secondMs, `${performance.now() - endedAt} ms`);
  const late = openSocket(t, url, { ...platform, authorization });
  t.is(await eventually('it does not get in', late.closed), 4403);
});

test('a socket with a session token closes when the token expires', async (t) => {
  const { url, sessionToken } = await gatewayMesh(t);
  const socket = openSocket(t, url, { ...platform, authorization: `Bearer ${sessionToken(7, { lifetimeMs: 3_000 })}` });
  await socket.settled();
  t.is(await eventually('it is closed', socket.closed), 4403);
});
