import { column, type RowOf, table } from '@parley/postgres/database/table';

export type SyncStatus = 'PENDING' | 'DELIVERED' | 'FAILED';

/** The table of deliveries, one for each evaluated session whose evaluation is posted. It stores neither requests nor responses. */
export const syncDeliveries = table('sync_deliveries', {
  id: column<number>(),
  agentId: column<number>(),
  sessionId: column<number>(),
  /** The webhook id, the same in every attempt. */
  webhookId: column<string>(),
  status: column<SyncStatus>(),
  /** Number of attempts that have begun, including a running one. */
  attempts: column<number>(),
  /** Why the last attempt failed: an error kind, or `HTTP` and a status. */
  lastError: column<string | null>(),
  nextAttemptAt: column<Date | null>(),
  createdAt: column<Date>(),
  deliveredAt: column<Date | null>(),
});

export type SyncDelivery = RowOf<typeof syncDeliveries>;
