import { forbidden } from '@parley/kernel/errors';
import type { IdentityServiceImplementation, ResolveSignInResponse } from '@parley/protos/parley/identity/v1/identity';
import type { MeshContext } from '@parley/rpc/server';
import { beginSpend } from './begin-spend.ts';
import { claimIdempotencyKey } from './claim-idempotency-key.ts';
import { endIdempotencyKey } from './end-idempotency-key.ts';
import { getJwks } from './get-jwks.ts';
import { getTenant } from './get-tenant.ts';
import type { Ports } from './ports.ts';
import { renewIdempotencyKey } from './renew-idempotency-key.ts';
import { renewSpend } from './renew-spend.ts';
import { reserveSpend } from './reserve-spend.ts';
import { resolveApiKey } from './resolve-api-key.ts';
import { resolveSignIn, resolveSignIns } from './resolve-sign-in.ts';
import { settleSpend } from './settle-spend.ts';
import type { SignInState } from './sign-in-store.ts';

export function identityRpc(ports: Ports): IdentityServiceImplementation<MeshContext> {
  return {
    getJwks: async () => ({ jwksJson: JSON.stringify(await getJwks(ports)) }),

    resolveSignIn: async ({ signInId }) => stateOf(await resolveSignIn(ports, signInId)),

    async resolveSignIns({ signInIds }) {
      const found = await resolveSignIns(ports, signInIds);
      return { signIns: found.map(({ signInId, ...state }) => ({ signInId, state: stateOf(state) })) };
    },

    resolveApiKey: ({ keySha256 }) => resolveApiKey(ports, keySha256),

    async getTenant({ tenantId }, { caller }) {
      const tenant = await getTenant(ports, caller, tenantId);
      const { knowledgeBases, chunks, storageMb } = ports.settings.planLimits[tenant.plan];
      return {
        tenantId: tenant.id,
        plan: tenant.plan,
        suspended: tenant.isSuspended,
        deleted: tenant.deletedAt !== null,
        llmProviderOverride: tenant.llmProviderOverride ?? '',
        llmModelOverride: tenant.llmModelOverride ?? '',
        quotas: {
          knowledgeBases: tenant.ownKnowledgeBases ?? knowledgeBases,
          chunks: tenant.ownChunks ?? chunks,
          storageMb: tenant.ownStorageMb ?? storageMb,
        },
      };
    },

    async reserveSpend(request, { caller }) {
      await reserveSpend(ports, caller, request);
      return { leaseMs: ports.settings.spendLeaseMs };
    },

    async beginSpend(request, { caller }) {
      await beginSpend(ports, caller, request);
      return {};
    },

    async renewSpend(request, { caller }) {
      await renewSpend(ports, caller, request);
      return {};
    },

    async settleSpend(request, { caller }) {
      await settleSpend(ports, caller, request);
      return {};
    },

    async claimIdempotencyKey(request, { caller }) {
      const claimed = await claimIdempotencyKey(ports, caller, request);
      return { ...claimed, leaseMs: ports.settings.idempotencyLeaseMs };
    },

    async renewIdempotencyKey(claim) {
      await renewIdempotencyKey(ports, claim);
      return {};
    },

    async endIdempotencyKey(request) {
      await endIdempotencyKey(ports, request);
      return {};
    },

    // Whoever has the mesh's key is no operator.
    rotateSigningKey: () =>
      Promise.reject(forbidden('Only operators rotate keys: scripts/admin rotate-key', 'OPERATOR_ONLY')),
  };
}

function stateOf({ tenantId, limitedReason, ...state }: SignInState): ResolveSignInResponse {
  return { ...state, tenantId: tenantId ?? undefined, limitedReason: limitedReason ?? '' };
}
