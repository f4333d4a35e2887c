import { once } from 'node:events';
import { connect } from 'node:tls';
import { runInNewContext } from 'node:vm';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { eventually } from '@parley/testing/eventually';
import { testAuthority } from '@parley/testing/test-authority';
import { testMeshTls } from '@parley/testing/test-mesh-tls';
import test from 'ava';
import { SignJWT } from 'jose';
import { WebSocket } from 'ws';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';
import { rawPost } from './support/raw-post.ts';

const loginInput = 'login(input: {email: "ada@example.com", password: "correct horse"}) { accessToken }';

test('errors: a request with a missing or unknown platform is refused before its body is read', async (t) => {
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

test('subgraphs are reached with a certificate, which may be replaced, and refuse others', async (t) => {
  const [old, next] = [testAuthority('old'), testAuthority('next')];
  const { tls, replace } = await testMeshTls(t, { ...old.issue(['127.0.0.1']), ca: old.cert });
  const { ask, identity, addresses } = await gatewayMesh(t, {
    mesh: { tls },
    resolvers: { agent: { Query: { agentCount: () => 7 } } },
    env: { GATEWAY_SUBGRAPH_CONNECTION_MS: '1' },
  });
  const token = await identity.signIn('s-1');
  const isAnswered = async () => {
    const { data } = await ask('{ agentCount }', { token }); // allow-name agentCount: one that the test answers
    t.deepEqual(data, { agentCount: 7 });
  };
  await isAnswered();

  const url = addresses.of('agent', 'graph');
  t.regex(url, /^https:/u);
  const reached = async (certificate: object) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ...certificate });
    const closed = new AbortController();
    socket.once('close', () => closed.abort());
    t.teardown(() => socket.destroy());
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    const [answer] = await once(socket, 'data', { signal: closed.signal });
    return { answer: String(answer), number: socket.getPeerCertificate().serialNumber };
  };
  const first = await reached(tls.current);
  t.regex(first.answer, /^HTTP\/1.1 401 /u, 'a caller is needed as well');
  await t.throwsAsync(reached({ ca: old.cert }), { any: true });
  await t.throwsAsync(reached({ ...testAuthority().issue(['127.0.0.1']), ca: old.cert }), { any: true });

  replace({ ca: old.cert + next.cert });
  await eventually('both authorities count', async () => {
    await isAnswered();
    return tls.current.ca.length > old.cert.length;
  });
  replace(next.issue(['127.0.0.1']));
  await eventually('the new certificate is shown', async () => {
    await isAnswered();
    return (await reached(tls.current)).number !== first.number;
  });
  await isAnswered();
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

test('an operation whose response type the client does not accept is refused before it runs', async (t) => {
  const { post, reached } = await gatewayMesh(t, {
    resolvers: { identity: { Mutation: { login: () => ({ accessToken: 'a' }) } } },
  });
  const body = JSON.stringify({ query: `mutation { ${loginInput} }` });
  for (const accept of ['text/html', 'image/*', 'application/json;q=0', 'multipart/mixed; deferSpec=20220824', 'x']) {
    const answer = await post(body, { accept });
    t.is(answer.status, 406, accept);
    t.like(answer.errors, [{ extensions: { code: 'BAD_REQUEST', statusCode: 406 } }], accept);
  }
  t.is(reached.length, 0);
  for (const [accept, type] of [
    ['*/*', 'application/json'],
    ['text/html, application/*;q=0.1', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
    ['application/graphql-response+json', 'application/graphql-response+json'],
    ['application/graphql-response+json; charset=utf-8, application/json;q=0.9', 'application/graphql-response+json'],
  ] as const) {
    const answer = await post(body, { accept });
    t.is(answer.status, 200, accept);
    t.is(answer.headers.get('content-type'), `${type}; charset=utf-8`, accept);
  }
  t.is(reached.length, 5);
});

test('a client that offers to upgrade to another protocol is answered over HTTP/1.1', async (t) => {
  const { url } = await gatewayMesh(t);
  const body = ['{"query":"{ __typename }"}'];
  for (const upgrade of ['h2c', 'websocket', 'TLS/1.2, h2c']) {
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade, 'http2-settings': 'AAMAAABkAAQAAP__' };
    const answer = await rawPost(url, { headers, body });
    t.is(answer.status, 200, upgrade);
    t.deepEqual(JSON.parse(answer.text), { data: { __typename: 'Query' } });
  }
});

test('a body over 8 MB is refused unread, one over 1 MB once its operation is known not to carry long texts', async (t) => {
  const { post, reached } = await gatewayMesh(t, {
    resolvers: { identity: { Mutation: { login: () => ({ accessToken: 'a' }) } } },
  });
  const padded = (bytes: number) =>
    JSON.stringify({ query: `mutation { ${loginInput} }`, extensions: { x: 'x'.repeat(bytes) } });
  const huge = await post(padded(8_400_000));
  t.is(huge.status, 413);
  t.regex(huge.errors?.[0]?.message ?? '', /^The body is larger than 8\d{6} bytes$/u);
  t.like(huge.errors?.[0]?.extensions, { code: 'BAD_REQUEST', statusCode: 413 });

  const long = await post(padded(1_100_000));
  t.is(long.status, 413);
  t.regex(long.errors?.[0]?.message ?? '', /^The body is larger than 1\d{6} bytes$/u);
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
  for (const [given, expected] of [
    ['order-66', /^order-66$/],
    ['with space', /^[0-9a-f-]{36}$/],
  ] as const) {
    const headers = { 'x-request-id': given };
    const preflight = await fetch(`${base}/graphql`, { method: 'OPTIONS', headers });
    t.regex(preflight.headers.get('x-request-id') ?? '', expected, 'of OPTIONS');
    const handshake = new WebSocket(`${base.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers });
    t.teardown(() => handshake.terminate());
    const [{ headers: upgraded }] = await once(handshake, 'upgrade');
    t.regex(upgraded['x-request-id'], expected, 'of the 101');
  }
});

test('responses carry security headers, and CORS headers only for allowed origins', async (t) => {
  const preflight = (url: string) =>
    fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-app-platform,authorization,idempotency-key',
      },
    });
  const open = await gatewayMesh(t);
  const answer = await preflight(open.url);
  t.is(answer.status, 204);
  t.is(answer.headers.get('access-control-allow-origin'), '*');
  t.regex(answer.headers.get('access-control-allow-headers') ?? '', /x-app-platform.*idempotency-key/);
  t.is(answer.headers.get('x-content-type-options'), 'nosniff');
  t.is(answer.headers.get('x-powered-by'), null);
  const posted = await open.post('{"query":"{__typename}"}', { origin: 'https://app.example' });
  t.regex(posted.headers.get('access-control-expose-headers') ?? '', /x-request-id.*retry-after/);

  const named = await gatewayMesh(t, { env: { CORS_ORIGINS: 'https://app.example' } });
  t.is((await preflight(named.url)).headers.get('access-control-allow-origin'), 'https://app.example');
  const production = await gatewayMesh(t, { env: { NODE_ENV: 'production' } });
  t.is((await preflight(production.url)).headers.get('access-control-allow-origin'), null);
});

test('any path but GraphQL and the key set is not found', async (t) => {
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

test('persisted queries are not supported', async (t) => {
  const { post } = await gatewayMesh(t);
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
  const answer = await post(JSON.stringify({ extensions }));
  t.is(answer.status, 400);
  t.deepEqual(codesOf(answer), ['BAD_REQUEST']);
});

test('the gateway is ready once it serves, and does not start on a port in use', async (t) => {
  const { addresses, base, stop } = await gatewayMesh(t);
  const ops = addresses.of('gateway', 'ops');
  t.is((await fetch(`${ops}/healthz`)).status, 200);
  await eventually('it is ready', async () => (await fetch(`${ops}/readyz`)).ok);
  const port = new URL(base).port;
  await t.throwsAsync(gatewayMesh(t, { env: { GATEWAY_PORT: port } }), { code: 'EADDRINUSE' });
  await stop();
  await t.throwsAsync(fetch(`${ops}/healthz`));
});

test('the gateway is not ready before identity has accepted a call, and stays ready in a later outage', async (t) => {
  const { addresses, identity, stop, restartRpc } = await gatewayMesh(t);
  const ready = () => fetch(`${addresses.of('gateway', 'ops')}/readyz`);
  await stop('identity rpc');
  t.is(await (await ready()).text(), 'identity is not available\n');
  await restartRpc('identity');
  await eventually('it is ready', async () => (await ready()).ok);
  t.deepEqual([...new Set(identity.asked)], ['jwks']);
  await stop('identity rpc');
  t.is((await ready()).status, 200);
});

test('a gateway with another MESH_KEY than identity is not ready, and says why', async (t) => {
  const { addresses } = await gatewayMesh(t, { otherMeshKey: true });
  const expected = "identity refuses the calls of this gateway: MESH_KEY is not identity's, or the clocks differ\n";
  await eventually('it has asked identity', async () => {
    const ready = await fetch(`${addresses.of('gateway', 'ops')}/readyz`);
    t.is(ready.status, 503);
    return (await ready.text()) === expected;
  });
});

test('all invalid settings are reported at once', async (t) => {
  const wrong = { TRUSTED_PROXIES: '10.0.0.0/99', GATEWAY_MAX_BODY_BYTES: '-1', INTROSPECTION: 'maybe' };
  const error = await t.throwsAsync(gatewayMesh(t, { env: wrong }));
  for (const name of Object.keys(wrong)) t.true(error?.message.includes(name), name);
});

const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

test('in development a browser gets the explorer, with all files from the gateway', async (t) => {
  const { url, base } = await gatewayMesh(t);
  const page = await fetch(url, { headers: asBrowser });
  t.is(page.status, 200);
  t.regex(page.headers.get('content-type') ?? '', /^text\/html/);
  const policy = page.headers.get('content-security-policy') ?? '';
  t.regex(policy, /default-src 'self'/);
  t.notRegex(policy, /unsafe-eval|https?:|upgrade-insecure-requests/);
  const html = await page.text();
  t.regex(html, /<base href="\/graphql\/explorer\/">/);
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].flatMap(([, file]) => file ?? []);
  t.true(files.length > 4);
  for (const file of files.filter((name) => name !== '/graphql/explorer/')) {
    t.notRegex(file, /^(https?:)?\/\//);
    const answer = await fetch(`${base}/graphql/explorer/${file}`);
    t.is(answer.status, 200, file);
    t.is(answer.headers.get('x-content-type-options'), 'nosniff', file);
  }
});

test('the explorer names the platform for requests and sockets', async (t) => {
  const { base } = await gatewayMesh(t);
  const start = await (await fetch(`${base}/graphql/explorer/start.js`)).text();
  let options: Record<string, Record<string, unknown>> = {};
  const init = (given: typeof options) => {
    options = given;
  };
  runInNewContext(start, { AltairGraphQL: { init }, location: { origin: 'http://localhost:4000' } });
  t.like(options, {
    endpointURL: 'http://localhost:4000/graphql',
    subscriptionsEndpoint: 'ws://localhost:4000/graphql',
    initialSubscriptionRequestHandlerId: 'graphql-ws',
    initialHeaders: { 'x-app-platform': 'customer' },
    initialSubscriptionsPayload: { 'x-app-platform': 'customer' },
  });
  t.is(options.initialHeaders?.authorization, options.initialSubscriptionsPayload?.authorization);
});

test('the explorer is served to browsers only, and never in production', async (t) => {
  const open = await gatewayMesh(t);
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5']) {
    const answer = await fetch(`${open.url}?query=%7B__typename%7D`, { headers: { accept } });
    t.is(answer.status, 405, accept);
    t.regex(answer.headers.get('content-type') ?? '', /json/);
  }
  t.is((await fetch(`${open.base}/graphql/explorer/../../package.json`)).status, 404);
  t.is((await fetch(`${open.base}/graphql/explorer/%2e%2e%2findex.js`)).status, 404);

  const production = await gatewayMesh(t, { env: { NODE_ENV: 'production' } });
  t.is((await fetch(production.url, { headers: asBrowser })).status, 405);
  t.is((await fetch(`${production.base}/graphql/explorer/main.js`)).status, 404);
  t.is((await fetch(`${production.base}/graphql/explorer/start.js`)).status, 404);
});

test('the agents of many sessions are resolved in one batch over two subgraphs, with a caller minted for each', async (t) => {
  const asked: number[] = [];
  const sessions = Array.from({ length: 20 }, (_, i) => ({
    id: i + 1,
    agentId: (i % 5) + 1,
    agent: { id: (i % 5) + 1 },
  }));
  const { ask, identity, reached } = await gatewayMesh(t, {
    resolvers: {
      session: { Query: { sessions: () => sessions } },
      agent: {
        AgentDto: {
          __resolveReference: ({ id }: { id: number }) => {
            asked.push(id);
            return id === 5 ? null : { id, name: `Agent ${id}` };
          },
        },
      },
    },
  });
  const token = await identity.signIn('s-1', { tenantId: 42 });
  const { data, errors } = await ask('{ sessions { id agent { id name } } }', { token });
  t.is(errors, undefined);
  const rows = data?.sessions as { id: number; agent: { id: number; name: string } | null }[];
  t.is(rows.length, 20);
  t.deepEqual(rows[1], { id: 2, agent: { id: 2, name: 'Agent 2' } });
  t.is(rows[4]?.agent, null, 'one that is not there is null');
  t.deepEqual(
    reached.map(({ subgraph }) => subgraph),
    ['session', 'agent'],
  );
  t.true(reached.every(({ caller }) => caller.tenantId === 42 && caller.userId === 1));
  t.deepEqual(new Set(asked), new Set([1, 2, 3, 4, 5]));
});

test('dates and JSON pass through the gateway unchanged', async (t) => {
  const metadata = { order: 66, nested: [null, { a: 'ü🦜' }] };
  const { ask, identity } = await gatewayMesh(t, {
    resolvers: {
      session: {
        Query: { session: () => ({ id: 1, metadata, createdAt: '2026-01-02T03:04:05.678Z', startedAt: null }) },
        Mutation: {
          startSession: (_: unknown, { input }: { input: { metadata: unknown } }) => ({
            id: 2,
            metadata: input.metadata,
          }),
        },
      },
    },
  });
  const token = await identity.signIn('s-1');
  const { data } = await ask('{ session(id: 1) { metadata createdAt startedAt } }', { token });
  t.deepEqual(data, { session: { metadata, createdAt: '2026-01-02T03:04:05.678Z', startedAt: null } });
  const started = await ask('mutation ($input: StartSessionInput!) { startSession(input: $input) { metadata } }', {
    token,
    variables: { input: { agentId: 1, clientExternalId: 'c', metadata } },
  });
  t.deepEqual(started.data, { startSession: { metadata } });
});

const resolvers = { agent: { Query: { agentCount: () => 2 } } };
const owner: Caller = { kind: 'user', userId: 9, displayName: 'Eve', tenantId: 9, signInId: 'x', requestId: 'r' };

test('an internal header from outside has no effect', async (t) => {
  const { ask, identity, reached, callers } = await gatewayMesh(t, { resolvers });
  for (const audience of ['agent', 'gateway']) {
    const headers = { 'x-parley-caller': await callers.mint(owner, audience) };
    t.deepEqual(codesOf(await ask('{ agentCount }', { headers })), ['UNAUTHENTICATED']);
    const token = await identity.signIn('s-1');
    t.deepEqual((await ask('{ agentCount }', { token, headers })).data, { agentCount: 2 });
  }
  t.deepEqual(
    reached.map(({ caller }) => caller.userId),
    [1, 1],
  );
});

test("federation's own fields are not in the public schema", async (t) => {
  const { ask, identity } = await gatewayMesh(t);
  const token = await identity.signIn('s-1');
  for (const query of [
    '{ _service { sdl } }',
    '{ _entities(representations: [{__typename: "AgentDto", id: 1}]) { __typename } }',
    'query ($r: [_Any!]!) { __typename _entities(representations: $r) { __typename } }',
  ]) {
    const answer = await ask(query, { token, variables: { r: [] } });
    t.is(answer.status, 400, query);
    t.deepEqual([...new Set(codesOf(answer))], ['GRAPHQL_VALIDATION_FAILED']);
  }
  const { data } = await ask('{ __schema { types { name } directives { name } } }');
  const names = JSON.stringify(data);
  t.notRegex(names, /"(_Any|_Entity|_Service|join__|link__|access|throttle)/);
});

test('a subgraph answers only callers with a credential minted for it', async (t) => {
  const { addresses, callers, meshKey, reached } = await gatewayMesh(t, { resolvers });
  const call = async (headers: Record<string, string>) => {
    const answer = await fetch(addresses.of('agent', 'graph'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"query":"{ agentCount }"}',
    });
    return answer.status;
  };
  const foreign = createCallers(new Uint8Array(32).fill(7));
  t.is(await call({}), 401);
  t.is(await call({ 'x-parley-caller': 'garbage' }), 401);
  t.is(await call({ 'x-parley-caller': await foreign.mint(owner, 'agent') }), 401);
  t.is(await call({ 'x-parley-caller': await callers.mint(owner, 'session') }), 401, 'minted for another unit');
  const minted = async (agoS: number, claims = {}, alg = 'HS256') => {
    const at = Math.floor(Date.now() / 1000) - agoS;
    const token = new SignJWT({ caller: owner, aud: 'agent', iat: at, exp: at + 60, ...claims });
    return call({ 'x-parley-caller': await token.setProtectedHeader({ alg }).sign(meshKey) });
  };
  t.is(await minted(0), 200);
  t.is(await minted(120), 401, 'expired');
  t.is(await minted(120, { exp: Math.floor(Date.now() / 1000) + 60 }), 401, 'made long ago, whatever it says');
  t.is(await minted(0, {}, 'HS512'), 401, 'of another algorithm');
  const [, payload] = (await callers.mint(owner, 'agent')).split('.');
  const none = Buffer.from('{"alg":"none"}').toString('base64url');
  t.is(await call({ 'x-parley-caller': `${none}.${payload}.` }), 401, 'unsigned');
  reached.length = 0;
  t.is(await call({ 'x-parley-caller': await callers.mint(owner, 'agent') }), 200);
});

test("the client address is the peer's, unless a trusted proxy forwards another", async (t) => {
  const open = { resolvers: { identity: { Query: { isRegisterable: () => ({}) } } } };
  const query = '{ isRegisterable(email: "a@b.example") }';
  const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' };
  const direct = await gatewayMesh(t, open);
  await direct.ask(query, { headers });
  t.is(direct.reached[0]?.caller.ip, '127.0.0.1');
  const behind = await gatewayMesh(t, { ...open, env: { TRUSTED_PROXIES: '127.0.0.0/8' } });
  await behind.ask(query, { headers });
  t.is(behind.reached[0]?.caller.ip, '198.51.100.7', 'the right-most hop that is not trusted');
});
