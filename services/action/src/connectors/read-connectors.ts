import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import type { Connector } from './connector.ts';
import { connectorStore } from './connector-store.ts';

export async function findConnector(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  id: number,
): Promise<Connector | undefined> {
  return database.transact(caller.tenantId, (db) => connectorStore(db).find(id));
}

export async function listConnectors(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
): Promise<Connector[]> {
  return database.transact(caller.tenantId, (db) => connectorStore(db).list());
}
