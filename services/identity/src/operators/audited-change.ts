import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import { userStore } from '../accounts/user-store.ts';
import type { Ports } from '../ports.ts';
import { tenantStore } from '../tenants/tenant-store.ts';
import { auditStore, type Facts } from './audit-store.ts';
import { directoryStore, type ListedTenant, type ListedUser } from './directory-store.ts';
import { operatorOf } from './operator.ts';

const auditedOfTenant = [
  'plan',
  'monthlyCapUsd',
  'ownKnowledgeBases',
  'ownChunks',
  'ownStorageMb',
  'ownerId',
  'suspendedByOperator',
  'idpOneBillingConfirmed',
] as const satisfies (keyof ListedTenant)[];

const auditedOfUser = ['status', 'twoFactor', 'signIns'] as const satisfies (keyof ListedUser)[];

/**
 * Locks and changes a live tenant and writes the change to the audit log, in one transaction.
 * @param work returns facts to log in addition to the changed fields
 * @throws DomainError `notFound` if the tenant or the user does not exist
 */
export async function changeTenant(
  { database, announce }: Ports,
  { caller }: CallerRequest,
  { action, tenantId, userId }: { action: string; tenantId: number; userId?: number },
  work: (db: SharedDb) => Promise<Facts | undefined>,
): Promise<ListedTenant> {
  const entry = { operator: operatorOf(caller), requestId: caller.requestId, action, tenantId, userId };
  const change = async (db: SharedDb): Promise<ListedTenant> => {
    if (userId !== undefined && !(await userStore(db).lock(userId))) throw notFound('User', userId);
    if (!(await tenantStore(db).lock(tenantId))) throw notFound('Tenant', tenantId);
    const before = await directoryStore(db).getTenant(tenantId);
    const facts = await work(db);
    const after = await directoryStore(db).getTenant(tenantId);
    await auditStore(db).insert({ ...entry, facts: { ...differences(auditedOfTenant, before, after), ...facts } });
    return after;
  };
  const tenant = await database.transactShared(change, { lockQueue: { user: userId, tenant: tenantId } });
  await announce({ $case: 'tenantId', value: tenantId });
  return tenant;
}

export async function changeUser(
  { database, announce }: Ports,
  { caller }: CallerRequest,
  { action, userId }: { action: string; userId: number },
  work: (db: SharedDb, before: ListedUser) => Promise<void>,
): Promise<ListedUser> {
  const entry = { operator: operatorOf(caller), requestId: caller.requestId, action, userId };
  const change = async (db: SharedDb): Promise<ListedUser> => {
    if (!(await userStore(db).lock(userId))) throw notFound('User', userId);
    const before = await directoryStore(db).getUser(userId);
    await work(db, before);
    const after = await directoryStore(db).getUser(userId);
    await auditStore(db).insert({ ...entry, facts: differences(auditedOfUser, before, after) });
    return after;
  };
  const user = await database.transactShared(change, { lockQueue: { user: userId } });
  await announce({ $case: 'userId', value: userId });
  return user;
}

function differences<Row>(fields: readonly (keyof Row)[], before: Row, after: Row): Facts {
  const changed = fields.filter((field) => before[field] !== after[field]);
  return Object.fromEntries(changed.map((field) => [field, [before[field], after[field]]]));
}
