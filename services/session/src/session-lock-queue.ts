import type { TransactOptions } from '@parley/postgres/database/types';

/** Queues client transactions that lock a session's row. With the tenant in the key, calls from other tenants delay nobody. */
export function lockQueueOf({
  tenantId,
  sessionId,
}: {
  tenantId: number;
  sessionId: number;
}): TransactOptions['lockQueue'] {
  return { row: `session ${tenantId} ${sessionId}` };
}
