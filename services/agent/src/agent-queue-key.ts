import type { TenantCaller } from '@parley/kernel/caller';
import type { TransactOptions } from '@parley/postgres/database/types';

/**
 * Names an agent's row for `TransactOptions.turn`: transactions that lock the same agent run one after another. Includes the
 * tenant, so that requests with another tenant's agent id cannot delay that tenant.
 */
export function agentQueueKey({ tenantId }: TenantCaller, agentId: number): TransactOptions['turn'] {
  return { row: `agent ${tenantId} ${agentId}` };
}
