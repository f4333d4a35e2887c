import type { TransactOptions } from '@parley/postgres/database/types';

/**
 * The turn of a transaction that locks a session's row for a client. The tenant is a part of it: who names another tenant's session
 * finds nothing, and keeps nobody of it waiting.
 */
export function turnOf({ tenantId, sessionId }: { tenantId: number; sessionId: number }): TransactOptions['turn'] {
  return { row: `session ${tenantId} ${sessionId}` };
}
