import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';

/** Posts the evaluation of one session. */
export interface SyncJob {
  sessionId: number;
  agentId: number;
}

export const syncKind = 'session.external-sync';

/** Its key is the session's id, so that one attempt at a time is made for a session. */
export async function appendSync(db: TenantDb, data: SyncJob): Promise<void> {
  await jobs(db).append<SyncJob>({ kind: syncKind, key: String(data.sessionId), data });
}
