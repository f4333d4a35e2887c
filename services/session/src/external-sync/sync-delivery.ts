import { column, type RowOf, table } from '@parley/postgres/database/table';

export type SyncStatus = 'PENDING' | 'DELIVERED' | 'FAILED';

/** The delivery of one session's evaluation, without anything that was sent or answered. */
export const syncDeliveries = table('sync_deliveries', {
  id: column<number>(),
  agentId: column<number>(),
  sessionId: column<number>(),
  /** The same in every attempt. */
  webhookId: column<string>(),
  status: column<SyncStatus>(),
  /** Those that were begun, the running one included. */
  attempts: column<number>(),
  /** Why the last one failed: a kind, or `HTTP` and a status. */
  lastError: column<string | null>(),
  nextAttemptAt: column<Date | null>(),
  createdAt: column<Date>(),
  deliveredAt: column<Date | null>(),
});

export type SyncDelivery = RowOf<typeof syncDeliveries>;
