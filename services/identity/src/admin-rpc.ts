import type {
  AdminServiceImplementation,
  AdminTenant,
  AdminUser,
  SigningKey,
} from '@parley/protos/parley/identity/v1/admin';
import { emptyAnswer } from '@parley/rpc/empty-answer';
import type { MeshContext } from '@parley/rpc/server';
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
import { rotateSigningKey } from './rotate-signing-key.ts';
import type { ListedSigningKey } from './signing-key-store.ts';

type UseCase<Request, Row> = (ports: Ports, caller: MeshContext['caller'], request: Request) => Promise<Row>;

export function adminRpc(ports: Ports): AdminServiceImplementation<MeshContext> {
  const ofTenant =
    <Request>(change: UseCase<Request, ListedTenant>) =>
    async (request: Request, { caller }: MeshContext) => ({ tenant: tenantOf(await change(ports, caller, request)) });
  const ofUser =
    <Request>(change: UseCase<Request, ListedUser>) =>
    async (request: Request, { caller }: MeshContext) => ({ user: userOf(await change(ports, caller, request)) });

  return {
    async listTenants(request, { caller }) {
      const { rows, next } = await listTenants(ports, caller, request);
      return { tenants: rows.map(tenantOf), nextAfter: next };
    },

    async listUsers(request, { caller }) {
      const { rows, next } = await listUsers(ports, caller, request);
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

    issueInvitation: async (request, { caller }) => ({ sentTo: await invite(ports, caller, request) }),

    listTenantSecrets: async (request, { caller }) => ({ secrets: await listTenantSecrets(ports, caller, request) }),
    putTenantSecret: (request, { caller }) => emptyAnswer(putTenantSecret(ports, caller, request)),
    removeTenantSecret: (request, { caller }) => emptyAnswer(removeTenantSecret(ports, caller, request)),

    async getTenantUsage(request, { caller }) {
      const { capUsd, months, counts } = await tenantUsage(ports, caller, request);
      return {
        monthlyCapUsdE8: capUsd === undefined ? undefined : usdE8(capUsd.toFixed(2)),
        months: months.map(({ month, spentUsd, reservedUsd }) => ({
          month,
          spentUsdE8: usdE8(spentUsd),
          reservedUsdE8: usdE8(reservedUsd),
        })),
        counts: counts.map(({ model, operation, count }) => ({ model, operation, count: BigInt(count) })),
      };
    },

    listSigningKeys: async (_, { caller }) => ({ keys: (await listSigningKeys(ports, caller)).map(keyOf) }),
    rotateAccessTokenKey: async (_, { caller }) => ({ key: keyOf(await rotateSigningKey(ports, caller)) }),

    async listAudit(request, { caller }) {
      const { rows, next } = await listAudit(ports, caller, request);
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

/** Of a decimal with at most eight digits after the point. */
function usdE8(usd: string): bigint {
  const [whole = '0', decimals = ''] = usd.split('.');
  return BigInt(whole + decimals.padEnd(8, '0'));
}
