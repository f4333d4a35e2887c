import type { MeshContext } from '@parley/chassis/rpc/server';
import type { IdentityServiceImplementation } from '@parley/protos/parley/identity/v1/identity';
import type { App } from './app.ts';

/** Identity as the mesh asks it: who is this, and what are the facts of a tenant. */
export function identityRpc(app: App): IdentityServiceImplementation<MeshContext> {
  return {
    getJwks: async () => ({ jwksJson: JSON.stringify(await app.getJwks()) }),

    async resolveSignIn({ signInId }) {
      const { tenantId, limitedReason, ...state } = await app.resolveSignIn(signInId);
      return { ...state, tenantId: tenantId ?? undefined, limitedReason: limitedReason ?? '' };
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
