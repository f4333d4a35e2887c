import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { customActionStore } from './custom-action-store.ts';
import type { StoredAction } from './stored-action.ts';

export async function listCustomActions(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
): Promise<StoredAction[]> {
  return database.transact(caller.tenantId, (db) => customActionStore(db).list());
}
