import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { connectorStore } from './connector-store.ts';
import { type ConnectorTool, connectorTools } from './connector-tools.ts';
import { openConnector } from './open-connector.ts';

/**
 * Lists the tools of one connector.
 * @throws DomainError `notFound` if the connector does not exist
 * @throws DomainError with reason `CONNECTOR_UNAUTHORIZED`, `CONNECTOR_UNREACHABLE` or an `OutboundReason` if the tools cannot be read
 */
export async function listMcpTools(
  ports: Ports,
  { caller, signal }: TenantRequest,
  connectorId: number,
): Promise<ConnectorTool[]> {
  const [row] = await ports.database.read(caller.tenantId, (db) => connectorStore(db).listSealed([connectorId]));
  if (!row) throw notFound('Connector', connectorId);
  return connectorTools(ports, caller, openConnector(ports.box, row), signal);
}
