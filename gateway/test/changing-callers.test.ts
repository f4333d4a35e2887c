import { forbidden } from '@parley/chassis/errors';
import type { GraphContext } from '@parley/chassis/graph/subgraph';
import test, { type ExecutionContext } from 'ava';
import { codesOf, type GatewayMesh, gatewayMesh } from './support/gateway-mesh.ts';

const start = 'startSession(input: { agentId: 1, clientExternalId: "x" }) { id }';

/** Identity's mutations change the sign-in as they do for real; agents and sessions tell in which tenant they were made. */
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

test('what a mutation does to its caller holds for the next one of the same document', async (t) => {
  for (const [change, code, reason] of [
    ['deleteTenant', 'FORBIDDEN', 'NO_TENANT'],
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

test('what follows a change of tenant lands in the new one', async (t) => {
  const { ask, made } = await changingMesh(t);
  const create = 'createAgent(input: { name: "a", personaPrompt: "p", position: "x" }) { id }';
  const answer = await ask(`mutation { a: ${create} createTenant(input: { name: "n" }) { id } b: ${create} }`);
  t.deepEqual(answer.errors, undefined);
  t.deepEqual(made, ['agent in 1', 'agent in 2']);
});

test('it holds as well for mutations that identity gets in one request, and none runs after one that is refused', async (t) => {
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

test('each mutation is held to what itself needs, whatever ran before', async (t) => {
  const { ask, made } = await changingMesh(t);
  const answer = await ask(`mutation {
    generateApiKey { key } updateTenant(input: { isSuspended: true }) { id } endSession(sessionId: 1) { id }
  }`);
  t.deepEqual(answer.errors, undefined);
  t.deepEqual(made, ['key in 1', 'end in 1']);
});

test('fragments, conditions and variables go with the mutation that has them', async (t) => {
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
