import { forbidden } from '@parley/kernel/errors';
import type { GraphContext } from '@parley/subgraph/subgraph';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { codesOf, type GatewayMesh, gatewayMesh, type Resolvers } from './support/gateway-mesh.ts';
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

test('a sign-in is looked up at most once a second', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  const started = performance.now();
  await Promise.all(Array.from({ length: 30 }, () => ask(count, { token })));
  for (let i = 0; i < 20; i += 1) await ask(count, { token });
  const asked = identity.asked.filter((question) => question === 'signIn s-1').length;
  t.true(asked <= 1 + Math.ceil((performance.now() - started) / 1000), `asked ${asked} times`);
});

test('a revoked sign-in is refused within a second without an announcement', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
  identity.signIns.delete('s-1');
  const revokedAt = performance.now();
  await eventually('the sign-in is refused', async () => codesOf(await ask(count, { token }))[0] === 'UNAUTHENTICATED');
  t.true(performance.now() - revokedAt < secondMs, `${performance.now() - revokedAt} ms`);
});

test('an announcement takes effect with the next request', async (t) => {
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

test('an announcement of an unknown kind invalidates everything', async (t) => {
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

test("a change by this gateway's own mutation takes effect with its next request, even without an announcement", async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const first = await identity.signIn('s-1');
  const second = await identity.signIn('s-2', { userId: 1 });
  for (const token of [first, second]) t.deepEqual((await ask(count, { token })).data, { agentCount: 2 });
  identity.signIns.delete('s-2');
  await ask('mutation { changePassword(input: {newPassword: "correct horse"}) }', { token: first });
  t.deepEqual(codesOf(await ask(count, { token: second })), ['UNAUTHENTICATED']);
});

test('logins and refreshes invalidate no other caller', async (t) => {
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

test('mutations without @changesCaller invalidate nothing', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1');
  const started = performance.now();
  for (let i = 0; i < 10; i += 1) await ask('mutation { deleteAgent(id: 1) }', { token });
  const asked = identity.asked.filter((question) => question === 'signIn s-1').length;
  t.true(asked <= 1 + Math.ceil((performance.now() - started) / 1000), `asked ${asked} times`);
});

test('members of a suspended tenant may only read, manage their account and end running sessions', async (t) => {
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

test('a suspended user is refused with that reason', async (t) => {
  const { ask, identity } = await gatewayMesh(t, { resolvers });
  const token = await identity.signIn('s-1', { userSuspended: true });
  for (const query of [count, '{ getAuthProfile { id } }', 'mutation { deleteTenant }']) {
    const { errors } = await ask(query, { token });
    t.like(errors, [{ extensions: { code: 'FORBIDDEN', reason: 'USER_SUSPENDED' } }], query);
  }
});

const start = 'startSession(input: { agentId: 1, clientExternalId: "x" }) { id }';

/** A mesh in which identity's mutations change the sign-in, as the real ones do. Agent and session report the tenant of every call. */
async function changingMesh(t: ExecutionContext) {
  const made: string[] = [];
  const make =
    (what: string) =>
    (_: unknown, _input: unknown, { caller }: GraphContext) => {
      if (caller.tenantId === null) throw forbidden('No tenant', 'NO_TENANT');
      made.push(`${what} in ${caller.tenantId}`);
      return { id: 1, key: 'k', speakingRate: 2 };
    };
  const nowIn = async (facts: Parameters<GatewayMesh['identity']['signIn']>[1]) => {
    await mesh.identity.signIn('s-1', facts);
    return { id: 1 };
  };
  const mesh: GatewayMesh = await gatewayMesh(t, {
    resolvers: {
      identity: {
        Mutation: {
          deleteTenant: async () => Boolean(await nowIn({ tenantId: undefined })),
          updateTenant: (
            _: unknown,
            { input }: { input: { isSuspended?: boolean; name?: string } },
            { caller }: GraphContext,
          ) => {
            if (input.name !== undefined) made.push(`name of ${caller.tenantId}`);
            return nowIn({ tenantId: caller.tenantId ?? undefined, tenantSuspended: input.isSuspended ?? false });
          },
          createTenant: () => nowIn({ tenantId: 2 }),
          changePassword: () => mesh.identity.signIns.delete('s-1'),
          generateApiKey: make('key'),
          upsertAvatarConfig: make('avatar'),
        },
      },
      agent: { Mutation: { createAgent: make('agent') } },
      session: {
        Mutation: {
          startSession: make('session'),
          endSession: (_: unknown, __: unknown, { caller }: GraphContext) => {
            made.push(`end in ${caller.tenantId}`);
            return { id: 1 };
          },
        },
      },
    },
  });
  const token = await mesh.identity.signIn('s-1', { tenantId: 1 });
  return {
    mesh,
    made,
    ask: (document: string, variables: Record<string, unknown> = {}) => mesh.ask(document, { token, variables }),
  };
}

test('a mutation that changes its caller affects the next one of the same document', async (t) => {
  for (const [change, code, reason] of [
    ['left: deleteTenant', 'FORBIDDEN', 'NO_TENANT'],
    ['updateTenant(input: { isSuspended: true }) { id }', 'FORBIDDEN', 'TENANT_SUSPENDED'],
    ['changePassword(input: { newPassword: "b" })', 'UNAUTHENTICATED', undefined],
  ]) {
    const { ask, made } = await changingMesh(t);
    const answer = await ask(`mutation { before: ${start} ${change} after: ${start} again: ${start} }`);
    t.is(answer.status, 200);
    t.true(codesOf(answer).length > 0 && codesOf(answer).every((each) => each === code), JSON.stringify(answer.errors));
    t.is(answer.errors?.[0]?.extensions.reason, reason);
    t.deepEqual(made, ['session in 1'], change);
  }
});

test('mutations after a change of tenant run in the new one', async (t) => {
  const { ask, made } = await changingMesh(t);
  const create = 'createAgent(input: { name: "a", personaPrompt: "p", position: "x" }) { id }';
  const answer = await ask(`mutation { a: ${create} createTenant(input: { name: "n" }) { id } b: ${create} }`);
  t.deepEqual(answer.errors, undefined);
  t.deepEqual(made, ['agent in 1', 'agent in 2']);
});

test('a mutation that changes its caller also affects the next one of the same subgraph request; none runs after a refusal', async (t) => {
  const key = 'generateApiKey { key }';
  const avatar = 'upsertAvatarConfig(input: { speakingRate: 2 }) { speakingRate }';
  const rename = (name: string) => `updateTenant(input: { name: "${name}" }) { id }`;
  for (const [document, made, code, reason] of [
    [`before: ${key} deleteTenant after: ${key} ${avatar}`, ['key in 1'], 'FORBIDDEN', 'NO_TENANT'],
    [
      `${avatar} updateTenant(input: { isSuspended: true }) { id } ${key} last: ${avatar}`,
      ['avatar in 1'],
      'FORBIDDEN',
      'TENANT_SUSPENDED',
    ],
    [
      `changePassword(input: { newPassword: "b" }) ${key} again: changePassword(input: { newPassword: "c" })`,
      [],
      'UNAUTHENTICATED',
      undefined,
    ],
    [
      `${rename('a')} createTenant(input: { name: "n" }) { id } b: ${rename('b')} ${key}`,
      ['name of 1', 'name of 2', 'key in 2'],
    ],
  ] as [string, string[], string?, string?][]) {
    const { ask, made: ran } = await changingMesh(t);
    const answer = await ask(`mutation { ${document} }`);
    t.is(answer.status, 200);
    t.deepEqual(codesOf(answer), code ? [code] : [], `${document}: ${answer.text}`);
    t.is(answer.errors?.[0]?.extensions.reason, reason);
    t.deepEqual(ran, made, document);
  }
});

test('the refusal of one mutation among several names it', async (t) => {
  const { ask } = await changingMesh(t);
  const answer = await ask(
    'mutation { a: updateTenant(input: { isSuspended: true }) { id } b: generateApiKey { key } }',
  );
  t.like(answer.errors, [{ message: 'This tenant is suspended', path: ['b'], extensions: { code: 'FORBIDDEN' } }]);
  t.is(answer.errors?.length, 1);
});

test('each mutation is authorized by its own rules', async (t) => {
  const { ask, made } = await changingMesh(t);
  const answer = await ask(`mutation {
    generateApiKey { key } updateTenant(input: { isSuspended: true }) { id } endSession(sessionId: 1) { id }
  }`);
  t.deepEqual(answer.errors, undefined);
  t.deepEqual(made, ['key in 1', 'end in 1']);
});

test('split mutations keep their fragments, conditions and variables', async (t) => {
  const { ask, made } = await changingMesh(t);
  const answer = await ask(
    `mutation ($name: String!, $other: UpdateTenantInput!, $yes: Boolean!, $no: Boolean!, $ok: Boolean = true) {
      ...all a: updateTenant(input: { name: $name }) { ...id @include(if: $ok) __typename }
      left: generateApiKey @skip(if: $yes) { key }
    }
    fragment all on Mutation {
      ... @include(if: $yes) { b: updateTenant(input: $other) { ...id } c: updateTenant(input: $other) { id } }
      ... @include(if: $no) { deleteTenant }
    }
    fragment id on TenantDto { id }`,
    { name: 'a', other: { name: 'b' }, yes: true, no: false },
  );
  t.deepEqual(answer.errors, undefined);
  t.deepEqual(answer.data, { b: { id: 1 }, c: { id: 1 }, a: { id: 1, __typename: 'TenantDto' } });
  t.deepEqual(made, ['name of 1', 'name of 1', 'name of 1']);
});
