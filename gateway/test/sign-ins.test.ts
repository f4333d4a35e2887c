import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import { codesOf, gatewayMesh, type Resolvers } from './support/gateway-mesh.ts';
import { secondMs } from './support/second.ts';

const tenant = { id: 1, name: 'Acme', plan: 'DEV', isSuspended: false };
const resolvers: Record<'identity' | 'agent' | 'session', Resolvers> = {
  identity: {
    Query: { getAuthProfile: () => ({ id: 1 }) },
    Mutation: {
      login: () => ({ accessToken: 'a' }),
      refreshToken: () => ({ accessToken: 'b' }),
      changePassword: () => true,
      createTenant: () => tenant,
      updateTenant: () => tenant,
      deleteTenant: () => true,
      generateApiKey: () => ({ key: 'sk_1', warning: 'shown once' }),
    },
  },
  agent: { Query: { agentCount: () => 2 }, Mutation: { deleteAgent: () => true } },
  session: {
    Mutation: { interruptSession: () => true, endSession: () => ({ id: 1 }), sendMessage: () => ({ id: 1 }) },
  },
};
const count = '{ agentCount }';

test('a sign-in is asked for once a second at most, however many requests carry it', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  const started = performance.now();
  await Promise.all(Array.from({ length: 30 }, () => ask(count, { token })));
  for (let i = 0; i < 20; i += 1) await ask(count, { token });
  const asked = identity.asked.filter((question) => question === 'signIn s-1').length;
  t.true(asked <= 1 + Math.ceil((performance.now() - started) / 1000), `asked ${asked} times`);
});

test('a revoked sign-in is dead within a second without any announcement', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
  identity.signIns.delete('s-1');
  const revokedAt = performance.now();
  await eventually('the sign-in is refused', async () => codesOf(await ask(count, { token }))[0] === 'UNAUTHENTICATED');
  t.true(performance.now() - revokedAt < secondMs, `${performance.now() - revokedAt} ms`);
});

test('an announcement is effective with the very next request', async (t) => {
  const { ask, identity, announce } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  for (let round = 0; round < 5; round += 1) {
    await identity.signIn('s-1', { tenantId: round });
    await announce({ $case: 'signInId', value: 's-1' });
    t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
    identity.signIns.delete('s-1');
    await announce({ $case: 'userId', value: 1 });
    t.like((await ask(count, { token })).errors, [
      { message: 'Invalid or expired access token', extensions: { code: 'UNAUTHENTICATED' } },
    ]);
  }
});

test('an announcement of something that only a newer version knows concerns everybody', async (t) => {
  const { ask, identity, announce } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  for (let round = 0; round < 5; round += 1) {
    await identity.signIn('s-1');
    await announce(undefined);
    t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
    identity.signIns.delete('s-1');
    await announce(undefined);
    t.deepEqual(codesOf(await ask(count, { token })), ['UNAUTHENTICATED']);
  }
});

test("what this gateway's own mutation changed holds for its very next request, announcement or not", async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const first = await identity.signIn('s-1');
  const second = await identity.signIn('s-2', { userId: 1 });
  for (const token of [first, second]) t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
  identity.signIns.delete('s-2');
  await ask('mutation { changePassword(input: {newPassword: "correct horse"}) }', { token: first });
  t.deepEqual(codesOf(await ask(count, { token: second })), ['UNAUTHENTICATED']);
});

test('logins and refreshes, of which there are many, make nobody be asked for anew', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  const started = performance.now();
  for (let i = 0; i < 10; i += 1) {
    await ask(count, { token });
    await ask('mutation { login(input: {email: "a@b.example", password: "x"}) { accessToken } }');
    await ask('mutation { refreshToken(input: {refreshToken: "prt_1"}) { accessToken } }');
  }
  const asked = identity.asked.filter((question) => question === 'signIn s-1').length;
  t.true(asked <= 1 + Math.ceil((performance.now() - started) / 1000), `asked ${asked} times`);
});

test('mutations of other units make nobody be asked for anew', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  const started = performance.now();
  for (let i = 0; i < 10; i += 1) await ask('mutation { deleteAgent(id: 1) }', { token });
  const asked = identity.asked.filter((question) => question === 'signIn s-1').length;
  t.true(asked <= 1 + Math.ceil((performance.now() - started) / 1000), `asked ${asked} times`);
});

test("a suspended tenant's members read, keep their account and end what runs, and do nothing else", async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1', { tenantSuspended: true });
  const open = [
    count,
    'mutation { changePassword(input: {newPassword: "correct horse"}) }',
    'mutation { createTenant(input: {name: "B"}) { id } }',
    'mutation { updateTenant(input: {isSuspended: false}) { id } }',
    'mutation { deleteTenant }',
    'mutation { endSession(sessionId: 1) { id } }',
    'mutation { interruptSession(sessionId: 1) }',
  ];
  for (const query of open) t.is((await ask(query, { token })).errors, undefined, query);
  const closed = [
    'mutation { deleteAgent(id: 1) }',
    'mutation { generateApiKey { key } }',
    'mutation { sendMessage(input: {sessionId: 1, text: "hi"}) { id } }',
    'mutation { changePassword(input: {newPassword: "correct horse"}) deleteAgent(id: 1) }',
  ];
  for (const query of closed) {
    t.deepEqual(
      (await ask(query, { token })).errors,
      [
        {
          message: 'This tenant is suspended',
          extensions: { code: 'FORBIDDEN', statusCode: 403, reason: 'TENANT_SUSPENDED' },
        },
      ],
      query,
    );
  }
});

for (const reason of ['TWO_FACTOR_REQUIRED', 'EMAIL_PROOF_REQUIRED']) {
  test(`a sign-in limited by ${reason} does only what completes it`, async (t) => {
    const { ask, identity, reached } = await gatewayMesh(t, { resolvers });
    const token = await identity.signIn('s-1', { limitedReason: reason });
    t.deepEqual((await ask('{ getAuthProfile { id } }', { token })).data, { getAuthProfile: { id: 1 } });
    const refresh = 'mutation { refreshToken(input: {refreshToken: "prt_1"}) { accessToken } }';
    t.deepEqual((await ask(refresh, { token })).data, { refreshToken: { accessToken: 'b' } });
    reached.length = 0;
    for (const query of [count, `{ getAuthProfile { id } agentCount }`, 'mutation { deleteTenant }']) {
      const { errors } = await ask(query, { token });
      t.like(errors, [{ extensions: { code: 'FORBIDDEN', statusCode: 403, reason } }], query);
    }
    t.is(reached.length, 0);
  });
}

test('a suspended user is told so, and does nothing', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1', { userSuspended: true });
  for (const query of [count, '{ getAuthProfile { id } }', 'mutation { deleteTenant }']) {
    const { errors } = await ask(query, { token });
    t.like(errors, [{ extensions: { code: 'FORBIDDEN', reason: 'USER_SUSPENDED' } }], query);
  }
});
