import { type CallerRequest, callerRequest } from '@parley/kernel/caller-request';
import type {
  AdminServiceImplementation,
  AdminTenant,
  AdminUser,
  SigningKey,
} from '@parley/protos/parley/identity/v1/admin';
import { emptyAnswer } from '@parley/rpc/empty-answer';
import type { MeshContext } from '@parley/rpc/server';
import { rotateSigningKey } from './keys/rotate-signing-key.ts';
import type { ListedSigningKey } from './keys/signing-key-store.ts';
import type { ListedTenant, ListedUser } from './operators/directory-store.ts';
import { invite } from './operators/invite.ts';
import { listAudit } from './operators/list-audit.ts';
import { listTenants, listUsers } from './operators/list-directory.ts';
import { listSigningKeys } from './operators/list-signing-keys.ts';
import {
  passOwnership,
  setIdpOneBilling,
  setMonthlyCap,
  setPlan,
  setQuota,
  setTenantSuspension,
} from './operators/tenant-changes.ts';
import { listTenantSecrets, putTenantSecret, removeTenantSecret } from './operators/tenant-secrets.ts';
import { tenantUsage } from './operators/tenant-usage.ts';
import { removeTwoFactor, revokeSignIns, setUserSuspension } from './operators/user-changes.ts';
import type { Ports } from './ports.ts';

type UseCase<Input, Row> = (ports: Ports, request: CallerRequest, input: Input) => Promise<Row>;

export function adminRpc(ports: Ports): AdminServiceImplementation<MeshContext> {
  const ofTenant =
    <Input>(change: UseCase<Input, ListedTenant>) =>
    async (input: Input, call: CallerRequest) => ({
      tenant: tenantOf(await change(ports, callerRequest(call), input)),
    });
  const ofUser =
    <Input>(change: UseCase<Input, ListedUser>) =>
    async (input: Input, call: CallerRequest) => ({ user: userOf(await change(ports, callerRequest(call), input)) });

  return {
    async listTenants(input, call) {
      const { rows, next } = await listTenants(ports, callerRequest(call), input);
      return { tenants: rows.map(tenantOf), nextAfter: next };
    },

    async listUsers(input, call) {
      const { rows, next } = await listUsers(ports, callerRequest(call), input);
      return { users: rows.map(userOf), nextAfter: next };
    },

    setTenantSuspension: ofTenant(setTenantSuspension),
    setPlan: ofTenant(setPlan),
    setMonthlyCap: ofTenant(setMonthlyCap),
    setQuota: ofTenant(setQuota),
    setIdpOneBilling: ofTenant(setIdpOneBilling),
    passOwnership: ofTenant(passOwnership),
    setUserSuspension: ofUser(setUserSuspension),
    removeTwoFactor: ofUser(removeTwoFactor),
    revokeSignIns: ofUser(revokeSignIns),

    issueInvitation: async (input, call) => ({ sentTo: await invite(ports, callerRequest(call), input) }),

    listTenantSecrets: async (input, call) => ({ secrets: await listTenantSecrets(ports, callerRequest(call), input) }),
    putTenantSecret: (input, call) => emptyAnswer(putTenantSecret(ports, callerRequest(call), input)),
    removeTenantSecret: (input, call) => emptyAnswer(removeTenantSecret(ports, callerRequest(call), input)),

    async getTenantUsage(input, call) {
      const { capUsd, months, counts } = await tenantUsage(ports, callerRequest(call), input);
      return {
        monthlyCapUsdE8: capUsd === undefined ? undefined : usdE8(capUsd.toFixed(2)),
        months: months.map(({ month, spentUsd, reservedUsd, estimatedUsd }) => ({
          month,
          spentUsdE8: usdE8(spentUsd),
          reservedUsdE8: usdE8(reservedUsd),
          estimatedUsdE8: usdE8(estimatedUsd),
        })),
        counts: counts.map(({ model, operation, count }) => ({ model, operation, count: BigInt(count) })),
      };
    },

    listSigningKeys: async (_, call) => ({ keys: (await listSigningKeys(ports, callerRequest(call))).map(keyOf) }),
    rotateAccessTokenKey: async (_, call) => ({ key: keyOf(await rotateSigningKey(ports, callerRequest(call))) }),

    async listAudit(input, call) {
      const { rows, next } = await listAudit(ports, callerRequest(call), input);
      const entries = rows.map(({ facts, tenantId, userId, ...entry }) => ({
        ...entry,
        tenantId: tenantId ?? undefined,
        userId: userId ?? undefined,
        factsJson: JSON.stringify(facts),
      }));
      return { entries, nextBefore: next };
    },
  };
}

function tenantOf(row: ListedTenant): AdminTenant {
  const { region, ownerId, ownerEmail, primaryBillingAccount, monthlyCapUsd, deletedAt, ...tenant } = row;
  const { ownKnowledgeBases, ownChunks, ownStorageMb } = row;
  return {
    ...tenant,
    region: region ?? '',
    ownerId: ownerId ?? undefined,
    ownerEmail: ownerEmail ?? '',
    billingAccount: primaryBillingAccount,
    monthlyCapUsdE8: monthlyCapUsd === null ? undefined : usdE8(monthlyCapUsd),
    deletedAt: deletedAt ?? undefined,
    knowledgeBases: ownKnowledgeBases ?? undefined,
    chunks: ownChunks ?? undefined,
    storageMb: ownStorageMb ?? undefined,
  };
}

function userOf({ email, phone, ...user }: ListedUser): AdminUser {
  return { ...user, email: email ?? '', phone: phone ?? '' };
}

function keyOf({ verifiesUntil, ...key }: ListedSigningKey): SigningKey {
  return { ...key, verifiesUntil: verifiesUntil ?? undefined };
}

/** Converts a decimal with at most eight fractional digits to units of 1e-8 USD. */
function usdE8(usd: string): bigint {
  const [whole = '0', decimals = ''] = usd.split('.');
  return BigInt(whole + decimals.padEnd(8, '0'));
}
