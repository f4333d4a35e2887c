import test from 'ava';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';

const loginInput = 'login(input: {email: "ada@example.com", password: "correct horse"}) { accessToken }';

test('a request that names no platform, or another one, is refused before anything is read', async (t) => {
  const { post, url } = await gatewayMesh(t);
  const body = JSON.stringify({ query: '{ __typename }' });
  const without = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  t.is(without.status, 400);
  t.like(await without.json(), { errors: [{ extensions: { code: 'PLATFORM_REQUIRED', statusCode: 400 } }] });

  const other = await post(body, { 'x-app-platform': 'Customer' });
  t.is(other.status, 400);
  t.deepEqual(codesOf(other), ['PLATFORM_REQUIRED']);
  t.is((await post(body)).status, 200);
});

test('operations come by POST, as one JSON object', async (t) => {
  const { url, post } = await gatewayMesh(t);
  const get = await fetch(`${url}?query=%7B__typename%7D`, { headers: { 'x-app-platform': 'customer' } });
  t.is(get.status, 405);
  t.is(get.headers.get('allow'), 'POST, OPTIONS');
  t.like(await get.json(), { errors: [{ extensions: { code: 'BAD_REQUEST', statusCode: 405 } }] });

  for (const type of ['text/plain', 'application/graphql', 'multipart/form-data; boundary=x']) {
    t.is((await post('{}', { 'content-type': type })).status, 415, type);
  }
  for (const body of ['[{"query":"{__typename}"}]', '{"query":', '"{__typename}"', 'null', '', '{"query":7}', '{}']) {
    const answer = await post(body);
    t.is(answer.status, 400, body);
    t.deepEqual(codesOf(answer), ['BAD_REQUEST'], body);
  }
  t.is((await post('{"query":"{__typename}"}', { 'content-type': 'application/json; charset=utf-8' })).status, 200);
});

test('a body over 8 MB is refused unread, one over 1 MB once its operation is known not to carry long texts', async (t) => {
  const { post, reached } = await gatewayMesh(t, {
    resolvers: { identity: { Mutation: { login: () => ({ accessToken: 'a' }) } } },
  });
  const padded = (bytes: number) =>
    JSON.stringify({ query: `mutation { ${loginInput} }`, extensions: { x: 'x'.repeat(bytes) } });
  const huge = await post(padded(8_400_000));
  t.is(huge.status, 413);
  t.like(huge.errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 413 });

  const long = await post(padded(1_100_000));
  t.is(long.status, 413);
  t.like(long.errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 413 });
  t.is(reached.length, 0);

  t.is((await post(padded(1_000_000))).status, 200);
  t.is(reached.length, 1);
});

test('every answer carries a request id: the one that was sent when it is well formed, else a new one', async (t) => {
  const { post, base } = await gatewayMesh(t);
  const idOf = async (given: string) => (await post('{}', { 'x-request-id': given })).headers.get('x-request-id');
  t.is(await idOf('order-66:a.b_c'), 'order-66:a.b_c');
  for (const bad of ['with space', 'x'.repeat(129), '<script>']) {
    t.regex((await idOf(bad)) ?? '', /^[0-9a-f-]{36}$/, bad);
  }
  t.truthy((await fetch(`${base}/nowhere`)).headers.get('x-request-id'));
});

test('answers carry the headers that keep browsers safe, and tell no origin more than is set', async (t) => {
  const preflight = (url: string) =>
    fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-app-platform,authorization',
      },
    });
  const open = await gatewayMesh(t);
  const answer = await preflight(open.url);
  t.is(answer.status, 204);
  t.is(answer.headers.get('access-control-allow-origin'), '*');
  t.regex(answer.headers.get('access-control-allow-headers') ?? '', /x-app-platform/);
  t.is(answer.headers.get('x-content-type-options'), 'nosniff');
  t.is(answer.headers.get('x-powered-by'), null);
  const posted = await open.post('{"query":"{__typename}"}', { origin: 'https://app.example' });
  t.regex(posted.headers.get('access-control-expose-headers') ?? '', /x-request-id.*retry-after/);

  const named = await gatewayMesh(t, { env: { CORS_ORIGINS: 'https://app.example' } });
  t.is((await preflight(named.url)).headers.get('access-control-allow-origin'), 'https://app.example');
  const production = await gatewayMesh(t, { env: { NODE_ENV: 'production' } });
  t.is((await preflight(production.url)).headers.get('access-control-allow-origin'), null);
});

test('nothing but GraphQL and the key set is there', async (t) => {
  const { base, identity } = await gatewayMesh(t);
  for (const path of ['/', '/graphql/more', '/.well-known', '/metrics', '/%']) {
    const answer = await fetch(`${base}${path}`, { method: 'POST' });
    t.true(answer.status === 404 || answer.status === 400, path);
    t.like(await answer.json(), { errors: [{ extensions: { statusCode: answer.status } }] });
  }
  const keys = await fetch(`${base}/.well-known/jwks.json`);
  t.is(keys.status, 200);
  t.regex(keys.headers.get('cache-control') ?? '', /max-age/);
  t.deepEqual(await keys.json(), JSON.parse(JSON.stringify(identity.jwks)));
});

test('the key set is unavailable while identity has never been reached', async (t) => {
  const { base, identity } = await gatewayMesh(t);
  identity.away = true;
  const answer = await fetch(`${base}/.well-known/jwks.json`);
  t.is(answer.status, 503);
  t.is(answer.headers.get('cache-control'), null);
  t.like(await answer.json(), { errors: [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }] });
  identity.away = false;
  t.is((await fetch(`${base}/.well-known/jwks.json`)).status, 200);
});

test('persisted queries are not kept, so that nobody can fill the gateway with them', async (t) => {
  const { post } = await gatewayMesh(t);
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
  const answer = await post(JSON.stringify({ extensions }));
  t.is(answer.status, 400);
  t.deepEqual(codesOf(answer), ['BAD_REQUEST']);
});

test('a unit is ready once it serves, and a port that is taken stops its start', async (t) => {
  const { addresses, base, stop } = await gatewayMesh(t);
  const ops = addresses.of('gateway', 'ops');
  t.is((await fetch(`${ops}/healthz`)).status, 200);
  t.is((await fetch(`${ops}/readyz`)).status, 200);
  const port = new URL(base).port;
  await t.throwsAsync(gatewayMesh(t, { env: { GATEWAY_PORT: port } }), { code: 'EADDRINUSE' });
  await stop();
  await t.throwsAsync(fetch(`${ops}/healthz`));
});

test('wrong settings are named all at once', async (t) => {
  const wrong = { TRUSTED_PROXIES: '10.0.0.0/99', GATEWAY_MAX_BODY_BYTES: '-1', INTROSPECTION: 'maybe' };
  const error = await t.throwsAsync(gatewayMesh(t, { env: wrong }));
  for (const name of Object.keys(wrong)) t.true(error?.message.includes(name), name);
});
