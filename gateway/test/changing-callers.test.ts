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
      return { id: 1 };
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
          updateTenant: () => nowIn({ tenantSuspended: true }),
          createTenant: () => nowIn({ tenantId: 2 }),
          changePassword: () => mesh.identity.signIns.delete('s-1'),
        },
      },
      agent: { Mutation: { createAgent: make('agent') } },
      session: { Mutation: { startSession: make('session') } },
    },
  });
  const token = await mesh.identity.signIn('s-1', { tenantId: 1 });
  return { mesh, made, ask: (document: string) => mesh.ask(document, { token }) };
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
