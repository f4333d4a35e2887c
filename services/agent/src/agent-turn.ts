import type { TenantCaller } from '@parley/kernel/caller';
import type { TransactOptions } from '@parley/postgres/database/types';

/**
 * The turn of a transaction that locks an agent's row. The tenant is a part of it: who names another tenant's agent finds nothing,
 * and keeps nobody of it waiting.
 */
export function turnOf({ tenantId }: TenantCaller, agentId: number): TransactOptions['turn'] {
  return { row: `agent ${tenantId} ${agentId}` };
}
