import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type { CreateMcpConnectorInput } from '../generated/schema.ts';
import { holdTenant, lockCount } from '../hold-tenant.ts';
import type { Ports } from '../ports.ts';
import { noteSealing } from '../sealing-tenant-store.ts';
import { apiKeyPlace, type Connector } from './connector.ts';
import { newConnector } from './connector-input.ts';
import { connectorStore } from './connector-store.ts';

/**
 * Stores a connector without contacting its server.
 * @throws DomainError `invalid` for invalid fields, or if the tenant has the maximum number of connectors
 */
export async function createConnector(
  ports: Ports,
  { caller, signal }: TenantRequest,
  input: CreateMcpConnectorInput,
): Promise<Connector> {
  const { apiKey, ...fields } = parseInput(newConnector(ports), input);
  const { tenantId } = caller;
  const maxConnectors = ports.limits.connectors;
  return ports.database.transact(
    tenantId,
    async (db) => {
      await holdTenant(db);
      await lockCount(db, 'connectors');
      const store = connectorStore(db);
      if ((await store.count()) >= maxConnectors)
        throw badRequest(`A tenant has at most ${maxConnectors} connectors`, 'LIMIT_REACHED');
      await noteSealing(db);
      return store.insert(fields, (row) => ports.box.seal(apiKey, apiKeyPlace(row)));
    },
    { lockQueue: { row: `connectors of ${tenantId}` }, signal },
  );
}
