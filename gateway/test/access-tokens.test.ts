import { createHmac, createPublicKey, type JsonWebKey, randomUUID } from 'node:crypto';
import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';
import { publicUrl, signingKey } from './support/identity-script.ts';

const resolvers = { agent: { Query: { agentCount: () => 2 } } };
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('forged, foreign, ended and misshapen access tokens are refused alike', async (t) => {
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
  // The last character of 64 bytes in base64url holds four bits that mean nothing.
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
    'a sign-in that is not there': await identity.key.token('gone'),
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

/** Headers carry bytes. */
function encodeHeader(text: string): string {
  return Buffer.from(text).toString('latin1');
}

test('an Authorization header that is no bearer counts as none', async (t) => {
  const { ask } = await gatewayMesh(t, { resolvers });
  for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer two parts', '']) {
    const answer = await ask('{ agentCount }', { headers: { authorization } });
    t.like(answer.errors, [{ message: 'Not signed in', extensions: { code: 'UNAUTHENTICATED' } }], authorization);
  }
});

test('the key set is read once, and once a second at most for keys that are not in it', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const reads = () => identity.asked.filter((question) => question === 'jwks').length;
  const tokens = await Promise.all([identity.signIn('s-1'), identity.signIn('s-2'), identity.signIn('s-3')]);
  await Promise.all(tokens.map((token) => ask('{ agentCount }', { token })));
  t.is(reads(), 1);
  const unknown = await Promise.all(
    Array.from({ length: 20 }, async () => (await signingKey(randomUUID())).token('s-1')),
  );
  for (const token of unknown) t.deepEqual(codesOf(await ask('{ agentCount }', { token })), ['UNAUTHENTICATED']);
  t.true(reads() <= 3, `${reads()} reads`);
});

test('a token of a new key is good as soon as the key is told', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const old = await identity.signIn('s-1');
  t.deepEqual((await ask('{ agentCount }', { token: old })).data, { agentCount: 2 });
  const next = await signingKey('key-2');
  identity.jwks.keys.push(next.publicJwk);
  const token = await next.token('s-1');
  // An unknown key asks again, but not more often than each second.
  const answer = await eventually('the token is good', async () => {
    const { data } = await ask('{ agentCount }', { token });
    return data;
  });
  t.deepEqual(answer, { agentCount: 2 });
  t.deepEqual((await ask('{ agentCount }', { token: old })).data, { agentCount: 2 });
});

test('while identity is away known keys still verify, and nobody is called unauthenticated for it', async (t) => {
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
