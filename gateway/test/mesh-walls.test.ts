import type { Caller } from '@parley/chassis/caller';
import { createCallers } from '@parley/chassis/caller';
import test from 'ava';
import { SignJWT } from 'jose';
import { codesOf, gatewayMesh } from './support/gateway-mesh.ts';

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

test('a subgraph answers nobody without a mesh credential of its own', async (t) => {
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

test('the address of the client is that of the socket, whatever it claims, unless a trusted proxy says so', async (t) => {
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
