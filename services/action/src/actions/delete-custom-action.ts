import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { customActionStore } from './custom-action-store.ts';

/** Deletes an action with its credential and the cached token. @throws DomainError `notFound` if the action does not exist */
export async function deleteCustomAction(
  { database, sending }: Pick<Ports, 'database' | 'sending'>,
  { caller }: TenantRequest,
  id: number,
): Promise<boolean> {
  await database.transact(caller.tenantId, (db) => customActionStore(db).markDeleted(id));
  await sending.messaging.drop({ id, tenantId: caller.tenantId, messagingRegion: null });
  return true;
}
