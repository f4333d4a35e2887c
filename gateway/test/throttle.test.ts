import { unavailable } from '@parley/kernel/errors';
import test, { type ExecutionContext } from 'ava';
import { buildSchema } from 'graphql';
import { readFieldRules } from '../src/graph/field-rules.ts';
import { readSupergraph } from '../src/graph/supergraph.ts';
import { anyOperation } from './support/any-operation.ts';
import { codesOf, type GatewayMeshOptions, gatewayMesh } from './support/gateway-mesh.ts';
import { rawPost } from './support/raw-post.ts';

const resolvers = {
  identity: {
    Mutation: {
      login: () => ({ accessToken: 'a' }),
      refreshToken: () => ({ accessToken: 'b' }),
      register: () => ({ accessToken: 'c' }),
    },
    Query: { isRegisterable: () => ({ registerable: true }) },
  },
};
const loginField = 'login(input: {email: "ada@example.com", password: "wrong horse"}) { accessToken }';
const login = `mutation { ${loginField} }`;
const logins = (count: number) =>
  `mutation { ${Array.from({ length: count }, (_, i) => `a${i}: ${loginField}`).join(' ')} }`;

interface Sent {
  input: { sessionId: number };
}

async function throttled(t: ExecutionContext, options: GatewayMeshOptions = {}) {
  const mesh = await gatewayMesh(t, { resolvers, ...options });
  const port = new URL(mesh.base).port;
  return {
    ...mesh,
    /** Returns the HTTP status of a login from an address. */
    async loginFrom(from: string, headers: Record<string, string> = {}): Promise<number> {
      const host = from.includes(':') ? '[::1]' : '127.0.0.1';
      const body = [JSON.stringify({ query: login })];
      return (await rawPost(`http://${host}:${port}/graphql`, { from, headers, body })).status;
    },
  };
}

test('errors, limits: login is refused at the 11th request in 60 s, with 429 and Retry-After', async (t) => {
  const { ask, reached } = await throttled(t);
  for (let left = 9; left >= 0; left--) {
    const answer = await ask(login);
    t.is(answer.status, 200);
    t.is(answer.headers.get('ratelimit-policy'), '"login";q=10;w=60');
    t.regex(answer.headers.get('ratelimit') ?? '', new RegExp(`^"login";r=${left};t=\\d+$`));
  }
  const refused = await ask(login);
  t.is(refused.status, 429);
  t.like(refused.errors, [{ extensions: { code: 'TOO_MANY_REQUESTS', statusCode: 429 } }]);
  t.is(refused.data, undefined);
  const seconds = Number(refused.headers.get('retry-after'));
  t.true(seconds > 0 && seconds <= 60);
  t.is(refused.headers.get('ratelimit-policy'), '"login";q=10;w=60');
  t.is(refused.headers.get('ratelimit'), `"login";r=0;t=${seconds}`);
  t.is(reached.length, 10, 'nothing of it ran');
  t.is((await ask('{ isRegisterable(email: "a@b.c") }')).status, 200, 'other operations have windows of their own');
});

/** The documented throttles of existing operations: a number of requests per number of seconds. */
const documentLimits = `
  login 10 in 60
  loginWithIdpOne 10 in 60
  register 5 in 60
  isRegisterable 5 in 60
  refreshToken 20 in 60
  generateOTP 3 in 300
  validateSecuredToken 5 in 60
  forgotPasswordWithOTP 5 in 900
  resetUserPasswordWithUrl 5 in 900
  generateText 10 in 60
  startTextGeneration 10 in 60
  testLlmProvider 10 in 60`
  .trim()
  .split(/\s*\n\s*/u);

test('limits: every throttle has the numbers of the document and is enforced at them, per address', async (t) => {
  const sdl = await readSupergraph();
  const schema = buildSchema(sdl, { assumeValidSDL: true });
  const { ask, identity } = await throttled(t, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
  identity.addApiKey('sk_right', { apiKeyId: 1, tenantId: 1, tenantSuspended: false });
  const token = await identity.signIn('s-1');
  const held: string[] = [];
  for (const [name, { throttle }] of readFieldRules(sdl)) {
    if (!throttle) continue;
    held.push(`${name.replace(/^.*\./u, '')} ${throttle.requests} in ${throttle.windowSeconds}`);
    const query = anyOperation(schema, name);
    const from = (address: string) =>
      ask(query, { token, apiKey: 'sk_right', headers: { 'x-forwarded-for': address } });
    for (let i = 0; i < throttle.requests; i++) t.is((await from('203.0.113.1')).status, 200, `${name} ${i}`);
    const refused = await from('203.0.113.1');
    t.is(refused.status, 429, name);
    t.true(Number(refused.headers.get('retry-after')) <= throttle.windowSeconds, name);
    t.is((await from('203.0.113.2')).status, 200, name);
  }
  t.deepEqual(
    documentLimits.filter((line) => !held.includes(line)),
    [],
  );
});

test('all gateways count in the same windows', async (t) => {
  const { ask, secondGateway } = await throttled(t);
  const at = await secondGateway();
  for (let i = 0; i < 5; i++) {
    t.is((await ask(login)).status, 200);
    t.is((await ask(login, { at })).status, 200);
  }
  t.is((await ask(login)).status, 429);
  t.is((await ask(login, { at })).status, 429);
});

test('ten aliases count ten, and a document beyond the window does not run at all', async (t) => {
  const { ask, reached } = await throttled(t);
  t.is((await ask(logins(11))).status, 429);
  t.is(reached.length, 0);
  t.is((await ask(logins(10))).status, 200);
  t.is((await ask(login)).status, 429);
});

test('a refused request does not count', async (t) => {
  const { ask, identity } = await throttled(t);
  const refusals: [string, Parameters<typeof ask>[1], number][] = [
    [`mutation { ${loginField} deleteTenant(name: "x") }`, {}, 400],
    [`mutation { ${loginField} createTenant(input: {name: "x"}) { id } }`, {}, 200],
    [`mutation { ${loginField} createTenant(input: {name: "x"}) { id } }`, { token: 'bad' }, 200],
    ['mutation ($in: SignInInput!) { login(input: $in) { accessToken } }', { variables: { in: { email: 7 } } }, 400],
    [
      'mutation ($in: SignInInput!) { login(input: $in) { accessToken } }',
      { variables: { in: { email: '\0', password: 'x' } } },
      200,
    ],
    [`mutation { ${loginField} nothing }`, {}, 400],
  ];
  for (const [query, how, status] of refusals) {
    for (let i = 0; i < 11; i++) {
      const answer = await ask(query, how);
      t.is(answer.status, status, answer.text);
      t.truthy(answer.errors);
    }
  }
  for (let i = 0; i < 10; i++)
    t.is((await ask(login, { token: 'bad' })).status, 200, 'a bad credential changes nothing');
  t.is((await ask(login, { token: await identity.signIn('s-1') })).status, 429, 'nor does a good one');
});

test('limits: throttles are keyed by client address, IPv4 and IPv6', async (t) => {
  const { loginFrom } = await throttled(t, { host: '::' });
  for (let i = 0; i < 10; i++) t.is(await loginFrom('127.0.0.1'), 200);
  t.is(await loginFrom('127.0.0.1'), 429);
  t.is(await loginFrom('127.0.0.2'), 200);
  for (let i = 0; i < 10; i++) t.is(await loginFrom('::1'), 200);
  t.is(await loginFrom('::1'), 429);
});

test('forwarded addresses of an untrusted peer are ignored', async (t) => {
  const { loginFrom } = await throttled(t, { env: { TRUSTED_PROXIES: '127.0.0.3' } });
  for (let i = 0; i < 10; i++) t.is(await loginFrom('127.0.0.1', { 'x-forwarded-for': `203.0.113.${i}` }), 200);
  for (const header of ['x-forwarded-for', 'x-real-ip', 'forwarded', 'x-client-ip', 'true-client-ip']) {
    t.is(await loginFrom('127.0.0.1', { [header]: '203.0.113.99' }), 429, header);
  }
});

test('behind a trusted proxy the right-most untrusted hop is the client, IPv6 by its /64', async (t) => {
  const { loginFrom } = await throttled(t, { env: { TRUSTED_PROXIES: '127.0.0.3, 10.0.0.0/8' } });
  const via = (forwarded: string) => loginFrom('127.0.0.3', { 'x-forwarded-for': forwarded });
  for (let i = 0; i < 10; i++) t.is(await via(`6.6.6.${i}, 203.0.113.1, 10.0.0.${i}`), 200);
  t.is(await via('203.0.113.1'), 429);
  t.is(await via('203.0.113.2'), 200);
  for (let i = 0; i < 10; i++) t.is(await via(`2001:db8:1:2:${i}::${i}`), 200);
  t.is(await via('2001:db8:1:2:ffff::1'), 429);
  t.is(await via('2001:db8:1:3::1'), 200);
});

test('throttles count by the client address that services receive', async (t) => {
  const { loginFrom, reached } = await throttled(t, { env: { TRUSTED_PROXIES: '127.0.0.3' } });
  await loginFrom('127.0.0.3', { 'x-forwarded-for': '::ffff:203.0.113.7' });
  t.is(reached[0]?.caller.ip, '203.0.113.7');
});

test('while counts are unavailable, sign-in is refused and everything else is served', async (t) => {
  const { ask, identity, keyValue, addresses, reached } = await throttled(t);
  const count = keyValue.countAll;
  keyValue.countAll = () => Promise.reject(unavailable('away'));
  keyValue.ping = () => Promise.reject(unavailable('away'));
  const answer = await ask(login);
  t.is(answer.status, 200);
  t.deepEqual(codesOf(answer), ['UNAVAILABLE']);
  t.is(reached.length, 0);
  t.deepEqual(codesOf(await ask('{ isRegisterable(email: "a@b.c") }')), []);
  const token = await identity.signIn('s-1');
  t.is((await ask('{ agentCount }', { token })).status, 200);
  const metrics = await (await fetch(`${addresses.of('gateway', 'ops')}/metrics`)).text();
  t.regex(metrics, /^parley_throttle_degraded_total\{[^}]*\} 2$/m);
  t.is((await fetch(`${addresses.of('gateway', 'ops')}/readyz`)).status, 200, 'it still serves');
  keyValue.countAll = count;
  t.is((await ask(login)).status, 200);
  t.deepEqual(codesOf(await ask(login)), []);
});

test('limits: operations that are not listed are not limited', async (t) => {
  const { ask, identity, reached } = await throttled(t, {
    resolvers: {
      session: { Mutation: { sendMessage: (_: unknown, { input }: Sent) => ({ id: input.sessionId }) } },
    },
  });
  const token = await identity.signIn('s-1');
  const count = 100; // more than any throttle of the contract allows
  const sends = Array.from({ length: count }, (_, i) =>
    ask('mutation ($id: Int!) { sendMessage(input: {sessionId: $id, text: "Hello"}) { id } }', {
      token,
      variables: { id: i % 5 },
    }),
  );
  for (const answer of await Promise.all(sends)) {
    t.is(answer.status, 200);
    t.is(answer.headers.get('ratelimit'), null);
  }
  t.is(reached.length, count);
});
