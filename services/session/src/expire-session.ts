import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { closeSession } from './close-session.ts';
import { expiryKind } from './commit-session-end.ts';
import type { SessionConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

export interface ExpiryJob {
  sessionId: number;
}

/** Maximum delay of one wait, in ms. The delay of a job is a 32-bit number of milliseconds, so longer waits are split. */
export const maxDelayMs = 20 * 24 * 60 * 60_000;

/**
 * Expires sessions. Each session has one job, which is due when the session would expire. Later events of the session postpone it. So
 * nothing has to search for idle sessions.
 */
export function expiryJob(ports: Ports, { stopGraceMs }: SessionConfig): JobDeclaration {
  return job<ExpiryJob>({
    kind: expiryKind,
    concurrency: 8,
    perTenantLimit: {
      unlimitedBecause: 'each is a short transaction, nobody waits for it, and it comes a day after the last event',
    },
    // Failures may be temporary, and no idle session may stay open for ever.
    retry: 'untilDone',
    stopGraceMs,
    handler: (run) => expireSession(ports, run),
  });
}

async function expireSession(
  ports: Ports,
  { data, tenantId, retryLater }: Pick<JobRun<ExpiryJob>, 'data' | 'tenantId' | 'retryLater'>,
): Promise<void> {
  const { sessionId } = data;
  const again = await ports.database.transact(tenantId, async (db) => {
    const leftMs = await sessionStore(db).timeLeftMs(sessionId, ports.settings);
    if (leftMs === undefined || leftMs <= 0) return false;
    await retryLater(data, Math.min(Math.ceil(leftMs) + 1, maxDelayMs), db);
    return true;
  });
  if (again) return;
  await closeSession(ports, {
    tenantId,
    sessionId,
    status: 'EXPIRED',
    keepOpenIf: async (db) => ((await sessionStore(db).timeLeftMs(sessionId, ports.settings)) ?? 0) > 0,
  });
}
