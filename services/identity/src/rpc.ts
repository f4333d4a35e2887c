import type { MeshContext } from '@parley/chassis/rpc/server';
import type { IdentityServiceImplementation, ResolveSignInResponse } from '@parley/protos/parley/identity/v1/identity';
import type { App } from './app.ts';
import type { SignInState } from './sign-in-store.ts';

/** Identity as the mesh asks it: who is this, and what are the facts of a tenant. */
export function identityRpc(app: App): IdentityServiceImplementation<MeshContext> {
  return {
    getJwks: async () => ({ jwksJson: JSON.stringify(await app.getJwks()) }),

    resolveSignIn: async ({ signInId }) => stateOf(await app.resolveSignIn(signInId)),

    async resolveSignIns({ signInIds }) {
      const found = await app.resolveSignIns(signInIds);
      return { signIns: found.map(({ signInId, ...state }) => ({ signInId, state: stateOf(state) })) };
    },

    resolveApiKey: ({ keySha256 }) => app.resolveApiKey(keySha256),

    async getTenant({ tenantId }, { caller }) {
      const tenant = await app.getTenant(caller, tenantId);
      return {
        tenantId: tenant.id,
        plan: tenant.plan,
        suspended: tenant.isSuspended,
        deleted: tenant.deletedAt !== null,
        llmProviderOverride: tenant.llmProviderOverride ?? '',
        llmModelOverride: tenant.llmModelOverride ?? '',
      };
    },

    rotateSigningKey: async (_, { caller }) => ({ kid: await app.rotateSigningKey(caller) }),
  };
}

function stateOf({ tenantId, limitedReason, ...state }: SignInState): ResolveSignInResponse {
  return { ...state, tenantId: tenantId ?? undefined, limitedReason: limitedReason ?? '' };
}
