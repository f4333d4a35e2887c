import { callerRequest, tenantRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type {
  IdentityServiceImplementation,
  ProviderPerson as ProviderPersonMessage,
  ResolveSignInResponse,
} from '@parley/protos/parley/identity/v1/identity';
import { emptyAnswer } from '@parley/rpc/empty-answer';
import type { MeshContext } from '@parley/rpc/server';
import { z } from 'zod';
import { resolveApiKey, resolveApiKeys } from './api-keys/resolve-api-key.ts';
import { claimIdempotencyKey } from './idempotency/claim-idempotency-key.ts';
import { endIdempotencyKey } from './idempotency/end-idempotency-key.ts';
import { renewIdempotencyKey } from './idempotency/renew-idempotency-key.ts';
import { exchangeTicket, ticketText } from './idp-one/exchange-ticket.ts';
import type { ProviderPerson } from './idp-one/provider-person.ts';
import { getJwks } from './keys/get-jwks.ts';
import type { Ports } from './ports.ts';
import { resolveSignIn, resolveSignIns } from './sign-ins/resolve-sign-in.ts';
import type { SignInState } from './sign-ins/sign-in-store.ts';
import { beginSpend } from './spend/begin-spend.ts';
import { meterSpend } from './spend/meter-spend.ts';
import { renewSpend } from './spend/renew-spend.ts';
import { reserveSpend } from './spend/reserve-spend.ts';
import { settleSpend } from './spend/settle-spend.ts';
import { tenantAvatarConfig } from './tenants/get-avatar-config.ts';
import { getTenant } from './tenants/get-tenant.ts';
import { getTenantSecret, hasTenantSecret } from './tenants/get-tenant-secret.ts';

export function identityRpc(ports: Ports): IdentityServiceImplementation<MeshContext> {
  return {
    getJwks: async () => ({ jwksJson: JSON.stringify(await getJwks(ports)) }),

    resolveSignIn: async ({ signInId }) => stateOf(await resolveSignIn(ports, signInId)),

    async resolveSignIns({ signInIds }) {
      const found = await resolveSignIns(ports, signInIds);
      return { signIns: found.map(({ signInId, ...state }) => ({ signInId, state: stateOf(state) })) };
    },

    resolveApiKey: ({ keySha256 }) => resolveApiKey(ports, keySha256),

    async resolveApiKeys({ keysSha256 }) {
      const found = await resolveApiKeys(ports, keysSha256);
      return { keys: found.map(({ keySha256, ...owner }) => ({ keySha256, owner })) };
    },

    async getTenant({ tenantId }, call) {
      const tenant = await getTenant(ports, callerRequest(call), tenantId);
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
        apiKeyId: tenant.apiKeyId,
      };
    },

    getAvatarConfig: (_, call) => tenantAvatarConfig(ports, tenantRequest(call)),

    async exchangeTicket({ ticket }, call) {
      const { ticket: given } = parseInput(ticketInput, { ticket }, '');
      const person = await exchangeTicket(ports, tenantRequest(call), given);
      return { person: person && toMessage(person) };
    },

    async hasTenantSecret({ name }, call) {
      return { exists: await hasTenantSecret(ports, tenantRequest(call), name) };
    },

    async getTenantSecret({ name }, call) {
      return { value: await getTenantSecret(ports, tenantRequest(call), name) };
    },

    async reserveSpend(input, call) {
      await reserveSpend(ports, tenantRequest(call), input);
      return { leaseMs: ports.settings.spendLeaseMs };
    },

    beginSpend: (input, call) => emptyAnswer(beginSpend(ports, tenantRequest(call), input)),

    renewSpend: (input, call) => emptyAnswer(renewSpend(ports, tenantRequest(call), input)),

    settleSpend: (input, call) => emptyAnswer(settleSpend(ports, tenantRequest(call), input)),

    async meterSpend(input, call) {
      return { left: await meterSpend(ports, callerRequest(call), input), leaseMs: ports.settings.spendLeaseMs };
    },

    async claimIdempotencyKey(input, call) {
      const claimed = await claimIdempotencyKey(ports, callerRequest(call), input);
      return { ...claimed, leaseMs: ports.settings.idempotencyLeaseMs };
    },

    renewIdempotencyKey: (claim) => emptyAnswer(renewIdempotencyKey(ports, claim)),

    endIdempotencyKey: (request) => emptyAnswer(endIdempotencyKey(ports, request)),
  };
}

const ticketInput = z.object({ ticket: ticketText });

function toMessage({ subject, email, emailVerified, fullname, company }: ProviderPerson): ProviderPersonMessage {
  const verifiedEmail = emailVerified && email !== null ? email : '';
  return { subject, verifiedEmail, fullname, company: company?.name ?? '' };
}

function stateOf({ tenantId, limitedReason, ...state }: SignInState): ResolveSignInResponse {
  return { ...state, tenantId: tenantId ?? undefined, limitedReason: limitedReason ?? '' };
}
