import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';

/** The data of a job that posts the evaluation of one session. */
export interface SyncJob {
  sessionId: number;
  agentId: number;
}

export const syncKind = 'session.external-sync';

/**
 * Appends a job that posts the evaluation of a session. The job's key is the session's id, so that only one attempt per session runs at a
 * time.
 */
export async function appendSync(db: TenantDb, data: SyncJob): Promise<void> {
  await jobs(db).append<SyncJob>({ kind: syncKind, key: String(data.sessionId), data });
}
