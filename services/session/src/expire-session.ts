import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun, TenantJob } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { closeSession } from './close-session.ts';
import { expiryKind } from './conclude-session.ts';
import type { SessionConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

export interface ExpiryJob {
  sessionId: number;
}

/** The queue counts a delay in an integer of milliseconds; who lives longer is looked at in between. */
export const longestDelayMs = 20 * 24 * 60 * 60_000;

/** Ends sessions that have been idle for too long. */
export function expiryJob(ports: Ports, { stopGraceMs }: SessionConfig): JobDeclaration {
  return job<ExpiryJob>({
    kind: expiryKind,
    concurrency: 8,
    perTenantLimit: {
      unlimitedBecause: 'each is a short transaction, nobody waits for it, and it comes a day after the last event',
    },
    // Whatever was in the way may be gone tomorrow; an idle session must not live for ever for it.
    maxAttempts: 1_000_000,
    stopGraceMs,
    handler: (run) => expireSession(ports, run),
  });
}

/**
 * Every session has one such job from its start on, due when it would be idle for too long. Then it is either over, or the
 * job looks again when it would be now. So nothing searches for idle sessions, and it is done once, whatever the replicas.
 */
export async function expireSession(
  ports: Ports,
  { data, tenantId, lease }: Pick<JobRun<ExpiryJob, undefined, TenantJob<ExpiryJob>>, 'data' | 'tenantId' | 'lease'>,
): Promise<void> {
  const { sessionId } = data;
  const again = await ports.database.transact(tenantId, async (db) => {
    const leftMs = await sessionStore(db).timeLeftMs(sessionId, ports.settings);
    if (leftMs === undefined || leftMs <= 0) return false;
    const delayMs = Math.min(Math.ceil(leftMs) + 1, longestDelayMs);
    await jobs(db).append<ExpiryJob>({ kind: expiryKind, key: String(sessionId), data, delayMs });
    await lease.complete(db);
    return true;
  });
  if (again) return;
  await closeSession(ports, {
    tenantId,
    sessionId,
    status: 'EXPIRED',
    unless: async (db) => ((await sessionStore(db).timeLeftMs(sessionId, ports.settings)) ?? 0) > 0,
  });
}
