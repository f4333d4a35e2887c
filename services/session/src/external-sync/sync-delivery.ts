import { column, type RowOf, table } from '@parley/postgres/database/table';

export type SyncStatus = 'PENDING' | 'DELIVERED' | 'FAILED';

/** The state of the delivery of one session's evaluation. Neither requests nor responses are stored. */
export const syncDeliveries = table('sync_deliveries', {
  id: column<number>(),
  agentId: column<number>(),
  sessionId: column<number>(),
  /** The webhook id, the same in every attempt. */
  webhookId: column<string>(),
  status: column<SyncStatus>(),
  /** Attempts begun, including the running one. */
  attempts: column<number>(),
  /** Why the last attempt failed: a kind, or `HTTP` and a status. */
  lastError: column<string | null>(),
  nextAttemptAt: column<Date | null>(),
  createdAt: column<Date>(),
  deliveredAt: column<Date | null>(),
});

export type SyncDelivery = RowOf<typeof syncDeliveries>;
