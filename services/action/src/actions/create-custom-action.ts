import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import type { TenantDb } from '@parley/postgres/database/types';
import { type NewAction, newAction } from '../custom-actions/create-rules.ts';
import { sealCredential } from '../custom-actions/stored-credential.ts';
import type { CreateCustomActionInput } from '../generated/schema.ts';
import { holdTenant, lockCount } from '../hold-tenant.ts';
import type { Ports } from '../ports.ts';
import { noteSealing } from '../sealing-tenant-store.ts';
import { customActionStore } from './custom-action-store.ts';
import type { StoredAction } from './stored-action.ts';

/**
 * Creates an action.
 * @throws DomainError `invalid` with every problem of the fields, or if the tenant has the maximum number of actions
 */
export async function createCustomAction(
  ports: Ports,
  { caller, signal }: TenantRequest,
  input: CreateCustomActionInput,
): Promise<StoredAction> {
  const made = newAction({ ...ports, tenantId: caller.tenantId }, input);
  return ports.database.transact(caller.tenantId, (db) => insertAction(ports, db, made), {
    lockQueue: { row: `custom actions of ${caller.tenantId}` },
    signal,
  });
}

/** Inserts the action in the caller's transaction. */
export async function insertAction(
  { box, limits }: Pick<Ports, 'box' | 'limits'>,
  db: TenantDb,
  { fields, credential }: NewAction,
): Promise<StoredAction> {
  const maxActions = limits.actions;
  await holdTenant(db);
  await lockCount(db, 'custom actions');
  const store = customActionStore(db);
  if ((await store.count()) >= maxActions)
    throw badRequest(`A tenant has at most ${maxActions} custom actions`, 'LIMIT_REACHED');
  if (credential) await noteSealing(db);
  return store.insert(fields, (row) => (credential ? sealCredential(box, row, credential) : null));
}
