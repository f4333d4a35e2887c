import type { TenantCaller } from '@parley/kernel/caller';
import type { TransactOptions } from '@parley/postgres/database/types';

/**
 * Returns the key of the lock queue of an agent. It includes the tenant, so that requests with another tenant's agent
 * id cannot delay that tenant.
 */
export function agentQueueKey({ tenantId }: TenantCaller, agentId: number): TransactOptions['lockQueue'] {
  return { row: `agent ${tenantId} ${agentId}` };
}
