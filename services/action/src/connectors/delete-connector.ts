import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { connectorStore } from './connector-store.ts';

/** Deletes a connector with its credential. @throws DomainError `notFound` if the connector does not exist */
export async function deleteConnector(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  id: number,
): Promise<boolean> {
  await database.transact(caller.tenantId, (db) => connectorStore(db).markDeleted(id));
  return true;
}
