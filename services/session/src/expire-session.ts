import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { closeSession } from './close-session.ts';
import { expiryKind } from './commit-session-end.ts';
import type { SessionConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

export interface ExpiryJob {
  sessionId: number;
}

/** A job's delay is an integer of milliseconds in 32 bits, so longer waits are split. */
export const maxDelayMs = 20 * 24 * 60 * 60_000;

/** One job per session, due when it would expire and appended again after events: nothing scans for idle sessions. */
export function expiryJob(ports: Ports, { stopGraceMs }: SessionConfig): JobDeclaration {
  return job<ExpiryJob>({
    kind: expiryKind,
    concurrency: 8,
    perTenantLimit: {
      unlimitedBecause: 'each is a short transaction, nobody waits for it, and it comes a day after the last event',
    },
    // Failures may be temporary, and no idle session may stay open for ever.
    maxAttempts: 1_000_000,
    stopGraceMs,
    handler: (run) => expireSession(ports, run),
  });
}

async function expireSession(
  ports: Ports,
  { data, tenantId, lease }: Pick<JobRun<ExpiryJob>, 'data' | 'tenantId' | 'lease'>,
): Promise<void> {
  const { sessionId } = data;
  const again = await ports.database.transact(tenantId, async (db) => {
    const leftMs = await sessionStore(db).timeLeftMs(sessionId, ports.settings);
    if (leftMs === undefined || leftMs <= 0) return false;
    const delayMs = Math.min(Math.ceil(leftMs) + 1, maxDelayMs);
    await jobs(db).append<ExpiryJob>({ kind: expiryKind, key: String(sessionId), data, delayMs });
    await lease.complete(db);
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
