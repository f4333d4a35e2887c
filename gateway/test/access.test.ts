import test from 'ava';
import { codesOf, gatewayMesh, type Resolvers } from './support/gateway-mesh.ts';

const person = { id: 1, fullname: 'Ada', referralCode: 'ABCDEFGH', status: 'ACTIVE', twoFactorEnabled: false };
const identityResolvers: Resolvers = {
  Query: {
    isRegisterable: () => ({ registerable: true, reasons: [] }),
    getAuthProfile: () => person,
    myTenant: () => null,
  },
  Mutation: {
    refreshToken: () => ({ accessToken: 'a', refreshToken: 'r', expiresIn: 900, refreshExpiresIn: 1 }),
    updateTenant: () => ({ id: 1 }),
  },
};
const sessionResolvers: Resolvers = {
  Query: { sessionCount: () => 3 },
  Mutation: { interruptSession: () => true },
};
const resolvers = { identity: identityResolvers, session: sessionResolvers, agent: { Query: { agentCount: () => 2 } } };

test('without a credential what needs one is unauthenticated, and what needs none is served', async (t) => {
  const { ask, reached } = await gatewayMesh(t, { resolvers });
  const refused = await ask('{ getAuthProfile { id } }');
  t.is(refused.status, 200);
  t.is(refused.data, undefined);
  t.deepEqual(refused.errors, [{ message: 'Not signed in', extensions: { code: 'UNAUTHENTICATED', statusCode: 401 } }]);
  t.is(reached.length, 0);

  const served = await ask('{ isRegisterable(email: "a@b.example") }');
  t.deepEqual(served.data, { isRegisterable: { registerable: true, reasons: [] } });
  t.like(reached[0]?.caller, { kind: 'anonymous', tenantId: null, ip: '127.0.0.1' });
});

test('an access token makes the caller a user, in the tenant of the sign-in', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1', { userId: 7, displayName: 'Grace', tenantId: 42 });
  const answer = await ask('{ agentCount }', { token, headers: { 'x-request-id': 'r-7' } });
  t.deepEqual(answer.data, { agentCount: 2 });
  t.deepEqual(reached, [
    {
      subgraph: 'agent',
      caller: {
        kind: 'user',
        userId: 7,
        displayName: 'Grace',
        signInId: 's-1',
        tenantId: 42,
        ip: '127.0.0.1',
        requestId: 'r-7',
      },
    },
  ]);
});

test('a user without a tenant reaches the subgraphs with none', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1', { tenantId: undefined });
  t.deepEqual((await ask('{ myTenant { id } }', { token })).data, { myTenant: null });
  t.is(reached[0]?.caller.tenantId, null);
});

test('a credential of a kind that the operation does not take counts as none', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  identity.addApiKey('sk_right', { apiKeyId: 5, tenantId: 1, tenantSuspended: false });
  const apiKeyOnly = await ask('{ agentCount }', { apiKey: 'sk_right' });
  t.like(apiKeyOnly.errors, [{ message: 'Not signed in', extensions: { code: 'UNAUTHENTICATED' } }]);
  const sessionToken = await ask('{ agentCount }', { token: 'pst1.k.payload.mac' });
  t.deepEqual(codesOf(sessionToken), ['UNAUTHENTICATED']);
  t.deepEqual(identity.asked, [], 'neither was looked at');
  t.is(reached.length, 0);

  t.deepEqual((await ask('{ agentCount }', { token, apiKey: 'sk_wrong' })).data, { agentCount: 2 });
  t.false(identity.asked.includes('apiKey'), 'of both headers the operation takes the kind that it accepts');
});

test('a session token that is none of ours is refused with its own message where session tokens are taken', async (t) => {
  const { ask } = await gatewayMesh(t, { resolvers });
  const answer = await ask('mutation { interruptSession(sessionId: 1) }', { token: 'pst1.k.payload.mac' });
  t.deepEqual(answer.errors, [
    {
      message: 'Invalid or expired avatar token',
      extensions: { code: 'UNAUTHENTICATED', statusCode: 401 },
    },
  ]);
});

test('one refused root field refuses the whole request before any of it runs', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  for (const [query, credential] of [
    ['{ isRegisterable(email: "a@b.example") agentCount }', {}],
    ['{ open: isRegisterable(email: "a@b.example") ... { ...hidden } } fragment hidden on Query { n: agentCount }', {}],
    ['query ($no: Boolean = false) { isRegisterable(email: "a@b.example") agentCount @include(if: $no) }', {}],
    ['{ a: agentCount b: sessionCount c: agentCount }', { token: `${token}x` }],
  ] as const) {
    const answer = await ask(query, credential);
    t.deepEqual(codesOf(answer), ['UNAUTHENTICATED'], query);
    t.is(answer.data, undefined);
  }
  t.is(reached.length, 0);
  const allowed = await ask(
    'query { ...all } fragment all on Query { a: agentCount ... on Query { b: sessionCount } }',
    {
      token,
    },
  );
  t.deepEqual(allowed.data, { a: 2, b: 3 });
});

test('what is public looks at no credential: neither an ended token nor one of a revoked sign-in disturbs it', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const refresh = 'mutation { refreshToken(input: {refreshToken: "r"}) { accessToken } }';
  const ended = await identity.key.token('gone', { exp: 1 });
  for (const token of [ended, 'garbage', 'pst1.x.y.z']) {
    t.deepEqual((await ask(refresh, { token, apiKey: 'sk_wrong' })).data, { refreshToken: { accessToken: 'a' } });
  }
  t.deepEqual(identity.asked, []);
});

test('introspection needs no credential and runs no subgraph', async (t) => {
  const { ask, reached } = await gatewayMesh(t, { resolvers });
  const { data } = await ask('{ __schema { queryType { name } } __typename }');
  t.deepEqual(data, { __schema: { queryType: { name: 'Query' } }, __typename: 'Query' });
  t.is(reached.length, 0);
});

test('a document of fragments within fragments costs no more than its length', async (t) => {
  const { ask } = await gatewayMesh(t, { resolvers });
  const depth = 150;
  const bomb = Array.from({ length: depth }, (_, i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`);
  // Twice as much with each would never come back.
  const answer = await ask(`{ ...f0 } ${bomb.join(' ')} fragment f${depth} on Query { agentCount }`);
  t.deepEqual(codesOf(answer), ['COMPLEXITY_LIMIT']);
});

test('subgraphs keep to @access by themselves, should the gateway ever be mistaken', async (t) => {
  const { addresses, callers } = await gatewayMesh(t, { resolvers });
  const caller = await callers.mint({ kind: 'anonymous', tenantId: null, requestId: 'r' }, 'agent');
  const answer = await fetch(addresses.of('agent', 'graph'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-parley-caller': caller },
    body: '{"query":"{ agentCount }"}',
  });
  t.like(await answer.json(), { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
});
