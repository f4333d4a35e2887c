import type { TenantCaller } from '@parley/kernel/caller';
import type { TransactOptions } from '@parley/postgres/database/types';

/**
 * Returns the key of the lock queue of an agent. The key includes the caller's tenant: otherwise requests with an agent id of another
 * tenant could delay that tenant.
 */
export function agentQueueKey({ tenantId }: TenantCaller, agentId: number): TransactOptions['lockQueue'] {
  return { row: `agent ${tenantId} ${agentId}` };
}
