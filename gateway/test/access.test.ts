import { createHmac, createPublicKey, type JsonWebKey, randomUUID } from 'node:crypto';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { codesOf, gatewayMesh, type Resolvers } from './support/gateway-mesh.ts';
import { publicUrl, signingKey } from './support/identity-script.ts';

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

test('without a credential, protected operations are unauthenticated and public ones are served', async (t) => {
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

test('a credential of an unaccepted kind is not verified, and the error names the accepted kind', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  identity.addApiKey('sk_right', { apiKeyId: 5, tenantId: 1, tenantSuspended: false });
  const apiKeyOnly = await ask('{ agentCount }', { apiKey: 'sk_right' });
  t.like(apiKeyOnly.errors, [{ message: 'Sign in with an access token', extensions: { code: 'UNAUTHENTICATED' } }]);
  const sessionToken = await ask('{ agentCount }', { token: 'pst1.k.payload.mac' });
  t.deepEqual(codesOf(sessionToken), ['UNAUTHENTICATED']);
  t.deepEqual(identity.asked, [], 'neither was looked at');
  t.is(reached.length, 0);

  t.deepEqual((await ask('{ agentCount }', { token, apiKey: 'sk_wrong' })).data, { agentCount: 2 });
  t.false(identity.asked.includes('apiKey'), 'of both headers the operation takes the kind that it accepts');
});

test('an invalid session token is refused with its own message where session tokens are accepted', async (t) => {
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

test('a public operation ignores expired tokens and tokens of revoked sign-ins', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const refresh = 'mutation { refreshToken(input: {refreshToken: "r"}) { accessToken } }';
  const ended = await identity.key.token('absent', { exp: 1 });
  for (const token of [ended, 'garbage', 'pst1.x.y.z']) {
    t.deepEqual((await ask(refresh, { token, apiKey: 'sk_wrong' })).data, { refreshToken: { accessToken: 'a' } });
  }
  t.deepEqual(identity.asked, []);
});

test('introspection needs no credential and calls no subgraph', async (t) => {
  const { ask, reached } = await gatewayMesh(t, { resolvers });
  const { data } = await ask('{ __schema { queryType { name } } __typename }');
  t.deepEqual(data, { __schema: { queryType: { name: 'Query' } }, __typename: 'Query' });
  t.is(reached.length, 0);
});

test('nested fragments cost linear time', async (t) => {
  const { ask } = await gatewayMesh(t, { resolvers });
  const depth = 150;
  const bomb = Array.from({ length: depth }, (_, i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`);
  // Visiting every spread would take exponential time.
  const answer = await ask(`{ ...f0 } ${bomb.join(' ')} fragment f${depth} on Query { agentCount }`);
  t.deepEqual(codesOf(answer), ['COMPLEXITY_LIMIT']);
});

test('subgraphs enforce @access themselves', async (t) => {
  const { addresses, callers } = await gatewayMesh(t, { resolvers });
  const caller = await callers.mint({ kind: 'anonymous', tenantId: null, requestId: 'r' }, 'agent');
  const answer = await fetch(addresses.of('agent', 'graph'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-parley-caller': caller },
    body: '{"query":"{ agentCount }"}',
  });
  t.like(await answer.json(), { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
});

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('forged, foreign, expired and malformed access tokens get the same error', async (t) => {
  const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
  const right = await identity.signIn('s-1');
  const [header = '', payload = '', signature = ''] = right.split('.');
  const attacker = await signingKey('key-1');
  const foreign = await signingKey('key-2');
  const key = identity.key.publicJwk as JsonWebKey;
  const publicPem = String(createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }));
  const hs256 = (secret: string) => {
    const signed = `${base64url({ alg: 'HS256', kid: 'key-1' })}.${payload}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  const withHeader = (rest: Record<string, unknown>) => attacker.token('s-1', {}, rest);
  // The last base64url character of 64 bytes has four unused bits.
  const lastBits = signature.slice(0, -1) + String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1);

  const forged: Record<string, string> = {
    'alg none': `${base64url({ alg: 'none', kid: 'key-1' })}.${payload}.`,
    'alg none, signature kept': `${base64url({ alg: 'none', kid: 'key-1' })}.${payload}.${signature}`,
    'HS256 with the public key in PEM': hs256(publicPem),
    'HS256 with the public key as JWK': hs256(JSON.stringify(identity.key.publicJwk)),
    'a key of the attacker under our kid': await attacker.token('s-1'),
    'an unknown kid': await foreign.token('s-1'),
    'a kid that walks': await withHeader({ kid: '../../key-1' }),
    'a kid that is no text': await withHeader({ kid: 1 }),
    'its own key in jwk': await withHeader({ jwk: attacker.publicJwk }),
    'its own key set in jku': await withHeader({ jku: 'https://attacker.example/jwks.json' }),
    'its own certificate in x5c': await withHeader({ x5c: ['AAAA'] }),
    'its own certificate in x5u': await withHeader({ x5u: 'https://attacker.example/cert.pem' }),
    'for no audience': await identity.key.token('s-1', { aud: [] }),
    'a critical header': `${base64url({ alg: 'ES256', kid: 'key-1', crit: ['exp'], exp: 1 })}.${payload}.${signature}`,
    'another audience': await identity.key.token('s-1', { aud: 'http://elsewhere.test' }),
    'another issuer': await identity.key.token('s-1', { iss: 'http://elsewhere.test' }),
    ended: await identity.key.token('s-1', { exp: Math.floor(Date.now() / 1000) - 1 }),
    'not yet': await identity.key.token('s-1', { nbf: Math.floor(Date.now() / 1000) + 600 }),
    'without an end': await identity.key.token('s-1', { exp: undefined }),
    'without a sign-in': await identity.key.token('s-1', { sid: undefined }),
    'a sign-in that is not there': await identity.key.token('absent'),
    'another payload': `${header}.${base64url({ sid: 's-1', iss: publicUrl, aud: publicUrl })}.${signature}`,
    'padding in the signature': `${right}==`,
    'another spelling of the last bits': `${header}.${payload}.${lastBits}`,
    'the other alphabet': `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+`,
    'two parts': `${header}.${payload}`,
    'five parts': `${right}.a.b`,
    'no JSON': 'AAAA.AAAA.AAAA',
    'a header of null': `${base64url(null)}.${payload}.${signature}`,
    huge: `${header}.${payload}.${'A'.repeat(6_000)}`,
    garbage: '🦜',
  };
  for (const [name, token] of Object.entries(forged)) {
    const headers = { authorization: `Bearer ${encodeHeader(token)}` };
    const answer = await ask('{ agentCount }', { headers });
    t.is(answer.status, 200, name);
    const refusal = {
      message: 'Invalid or expired access token',
      extensions: { code: 'UNAUTHENTICATED', statusCode: 401 },
    };
    t.deepEqual(answer.errors, [refusal], name);
  }
  t.is(reached.length, 0);
  t.deepEqual((await ask('{ agentCount }', { token: right })).data, { agentCount: 2 });
});

function encodeHeader(text: string): string {
  return Buffer.from(text).toString('latin1');
}

test('an Authorization header without Bearer is ignored', async (t) => {
  const { ask } = await gatewayMesh(t, { resolvers });
  for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer two parts', '']) {
    const answer = await ask('{ agentCount }', { headers: { authorization } });
    t.like(answer.errors, [{ message: 'Not signed in', extensions: { code: 'UNAUTHENTICATED' } }], authorization);
  }
});

test('the key set is fetched once, and at most once a second for unknown keys', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const reads = () => identity.asked.filter((question) => question === 'jwks').length;
  const fromMs = performance.now();
  const tokens = await Promise.all([identity.signIn('s-1'), identity.signIn('s-2'), identity.signIn('s-3')]);
  await Promise.all(tokens.map((token) => ask('{ agentCount }', { token })));
  t.is(reads(), 1);
  const unknown = await Promise.all(
    Array.from({ length: 20 }, async () => (await signingKey(randomUUID())).token('s-1')),
  );
  for (const token of unknown) t.deepEqual(codesOf(await ask('{ agentCount }', { token })), ['UNAUTHENTICATED']);
  const seconds = (performance.now() - fromMs) / 1000;
  t.true(reads() <= 2 + seconds, `${reads()} reads in ${seconds} s`);
});

test('a token of a new key is accepted as soon as the key is published', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const old = await identity.signIn('s-1');
  t.deepEqual((await ask('{ agentCount }', { token: old })).data, { agentCount: 2 });
  const next = await signingKey('key-2');
  identity.jwks.keys.push(next.publicJwk);
  const token = await next.token('s-1');
  // An unknown key id triggers a fetch at most once a second.
  const answer = await eventually('the token is good', async () => {
    const { data } = await ask('{ agentCount }', { token });
    return data;
  });
  t.deepEqual(answer, { agentCount: 2 });
  t.deepEqual((await ask('{ agentCount }', { token: old })).data, { agentCount: 2 });
});

test('while identity is unavailable, known keys still verify and no caller is unauthenticated', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  identity.away = true;
  const answer = await ask('{ agentCount }', { token });
  t.is(answer.status, 200);
  t.like(answer.errors, [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }]);
  t.false(JSON.stringify(answer.errors).includes('127.0.0.1'));
  identity.away = false;
  t.deepEqual((await ask('{ agentCount }', { token })).data, { agentCount: 2 });
});
