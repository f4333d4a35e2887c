import type { TenantCaller } from '@parley/kernel/caller';
import type { TransactOptions } from '@parley/postgres/database/types';

/** The lock key includes the tenant, so that requests with another tenant's agent id cannot delay that tenant. */
export function agentQueueKey({ tenantId }: TenantCaller, agentId: number): TransactOptions['lockQueue'] {
  return { row: `agent ${tenantId} ${agentId}` };
}
