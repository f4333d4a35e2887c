import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';

/** Posts the evaluation of one session. */
export interface SyncJob {
  sessionId: number;
  agentId: number;
}

export const syncKind = 'session.external-sync';

/** Appends the job. Its key is the session's id, so that a session has only one attempt at a time. */
export async function appendSync(db: TenantDb, data: SyncJob): Promise<void> {
  await jobs(db).append<SyncJob>({ kind: syncKind, key: String(data.sessionId), data });
}
