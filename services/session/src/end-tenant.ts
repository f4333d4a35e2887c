import type { TenantDb } from '@parley/chassis/database/types';
import type { JobClaimer } from '@parley/chassis/jobs/job-claimer';
import type { JobRun, TenantJob } from '@parley/chassis/jobs/job-types';
import { jobs } from '@parley/chassis/jobs/jobs';
import { closeSession } from './close-session.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';
import { tenantStore } from './tenant-store.ts';

/** Ends what runs for a tenant that has been deleted. */
export const endTenantKind = 'session.end-tenant';

/** Sessions that are closed at once: a running turn has some seconds to be cut, and there may be many. */
const atOnce = 20;

/**
 * From the commit on no session of the tenant starts, and no end of one is judged, whoever brings it about; the job sees to it
 * that they end.
 */
export async function giveUpSessions(db: TenantDb, runner: JobClaimer): Promise<void> {
  await tenantStore(db).bury();
  if (!(await sessionStore(db).leaveUnjudged())) return;
  await jobs(db, runner).append({ kind: endTenantKind, key: `tenant ${db.tenantId}`, data: {} });
}

/** Ends all ACTIVE sessions of a tenant: running turns are cut, waiting ones fail, and nothing is judged. */
export async function endTenant(
  ports: Ports,
  { tenantId, signal }: Pick<JobRun<unknown, undefined, TenantJob>, 'tenantId' | 'signal'>,
): Promise<void> {
  for (let after = 0; !signal.aborted; ) {
    const ids = await ports.database.transact(tenantId, (db) => sessionStore(db).listActive({ after, limit: atOnce }));
    const last = ids.at(-1);
    if (last === undefined) return;
    await Promise.all(ids.map((sessionId) => closeSession(ports, { tenantId, sessionId, status: 'ENDED' })));
    after = last;
  }
  signal.throwIfAborted();
}
