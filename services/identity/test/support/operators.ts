import { randomBytes } from 'node:crypto';
import { type Caller, type Callers, createCallers } from '@parley/kernel/caller';
import type { Database } from '@parley/postgres/database/types';
import {
  AdminServiceDefinition,
  type ListAuditRequest,
  type ListTenantsRequest,
  type ListUsersRequest,
} from '@parley/protos/parley/identity/v1/admin';
import { rpcClient } from '@parley/rpc/client';
import { bound } from '@parley/testing/bound';
import { startService } from '@parley/testing/service-harness';
import { replicaOf } from '@parley/testing/test-schema';
import type { ExecutionContext } from 'ava';
import type { IdentitySettings } from '../../src/config.ts';
import { identitySchema } from '../../src/identity-schema.ts';
import { rotateSigningKey } from '../../src/keys/rotate-signing-key.ts';
import { invite } from '../../src/operators/invite.ts';
import { listAudit } from '../../src/operators/list-audit.ts';
import { listTenants, listUsers } from '../../src/operators/list-directory.ts';
import { listSigningKeys } from '../../src/operators/list-signing-keys.ts';
import {
  passOwnership,
  setIdpOneBilling,
  setMonthlyCap,
  setPlan,
  setQuota,
  setTenantSuspension,
} from '../../src/operators/tenant-changes.ts';
import { listTenantSecrets, putTenantSecret, removeTenantSecret } from '../../src/operators/tenant-secrets.ts';
import { tenantUsage } from '../../src/operators/tenant-usage.ts';
import { removeTwoFactor, revokeSignIns, setUserSuspension } from '../../src/operators/user-changes.ts';
import { identity } from '../../src/service.ts';
import { identityApp } from './identity-app.ts';

export const operatorCases = {
  listTenants,
  listUsers,
  setTenantSuspension,
  setPlan,
  setMonthlyCap,
  setQuota,
  setIdpOneBilling,
  passOwnership,
  setUserSuspension,
  removeTwoFactor,
  revokeSignIns,
  invite,
  listTenantSecrets,
  putTenantSecret,
  removeTenantSecret,
  tenantUsage,
  listSigningKeys,
  rotateSigningKey,
  listAudit,
};

export const operator = (displayName = 'ada', requestId = 'r1'): Caller => ({
  kind: 'operator',
  displayName,
  tenantId: null,
  requestId,
});

export const ofTenants = (request: Partial<ListTenantsRequest> = {}): ListTenantsRequest => ({
  id: undefined,
  name: '',
  owner: '',
  first: 0,
  after: 0,
  ...request,
});

export const ofUsers = (request: Partial<ListUsersRequest> = {}): ListUsersRequest => ({
  id: undefined,
  email: '',
  phone: '',
  tenant: undefined,
  first: 0,
  after: 0,
  ...request,
});

export const ofAudit = (request: Partial<ListAuditRequest> = {}): ListAuditRequest => ({
  tenant: undefined,
  user: undefined,
  first: 0,
  before: 0,
  ...request,
});

/** Creates the use cases of users and of operators, on the same schema. */
export async function operatorsApp(t: ExecutionContext, settings: Partial<IdentitySettings> = {}) {
  const given = await identityApp(t, settings);
  const admin = bound(operatorCases, given.ports);
  return {
    ...given,
    admin,
    /** Returns the use cases of operators on a second replica. */
    async elsewhere() {
      return bound(operatorCases, {
        ...given.ports,
        database: await replicaOf(t, given.database, identitySchema),
      });
    },
    /** Audit entries, newest first. */
    audit: async (request: Partial<ListAuditRequest> = {}) =>
      (await admin.listAudit(operator(), ofAudit(request))).rows,
  };
}

/** Starts the unit with its servers, and creates a client for operators. */
export async function operatorsUnit(t: ExecutionContext, { database }: { database?: Database } = {}) {
  const operatorKey = randomBytes(32);
  const env = { SECRETS_KEYS: randomBytes(32).toString('base64'), OPERATOR_KEY: operatorKey.toString('base64') };
  const started = await startService(t, identity, { env, ...(database && { database }) });
  const { addresses } = started.dependencies;
  const clientOf = async (callers: Callers, unit = 'identity') => {
    const client = rpcClient({
      definition: AdminServiceDefinition,
      unit,
      address: () => addresses.of('identity', 'rpc'),
      callers,
    });
    await client.start();
    t.teardown(() => client.stop());
    return client.calls;
  };
  return { ...started, operatorKey, clientOf, admin: await clientOf(createCallers(operatorKey)) };
}
