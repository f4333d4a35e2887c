import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { UpdateMcpConnectorInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Connector } from './connector.ts';
import { changedConnector } from './connector-input.ts';
import { connectorStore } from './connector-store.ts';

/**
 * Updates a connector; its credential is unchanged. @throws DomainError `notFound` if the connector does not exist; `invalid` with every
 * problem
 */
export async function updateConnector(
  ports: Ports,
  { caller }: TenantRequest,
  input: UpdateMcpConnectorInput,
): Promise<Connector> {
  const { id, ...fields } = parseInput(changedConnector(ports), input);
  return ports.database.transact(caller.tenantId, (db) => connectorStore(db).update(id, fields));
}
