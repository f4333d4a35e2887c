import type { TransactOptions } from '@parley/postgres/database/types';

/**
 * Returns the queue in which client transactions wait for the lock of a session's row. The key contains the tenant, so
 * that calls of other tenants cause no delay.
 */
export function lockQueueOf({
  tenantId,
  sessionId,
}: {
  tenantId: number;
  sessionId: number;
}): TransactOptions['lockQueue'] {
  return { row: `session ${tenantId} ${sessionId}` };
}
