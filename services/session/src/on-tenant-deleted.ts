import type { Handler } from '@parley/chassis/events/consumer';
import { once } from '@parley/chassis/events/inbox';
import type { JobClaimer } from '@parley/chassis/jobs/job-claimer';
import { jobs } from '@parley/chassis/jobs/jobs';
import type { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { endTenantKind } from './end-tenant.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

/**
 * From the commit on no end of the tenant's sessions is judged, whoever brings it about. Ending them waits for running turns,
 * so the event leaves a job behind for that.
 */
export function onTenantDeleted(ports: Pick<Ports, 'database'>, runner: JobClaimer): Handler<TenantDeleted> {
  return ({ id, tenantId }) =>
    ports.database.transact(tenantId, (db) =>
      once(db, 'session', id, async () => {
        if (!(await sessionStore(db).leaveUnjudged())) return;
        await jobs(db, runner).append({ kind: endTenantKind, key: `tenant ${tenantId}`, data: {} });
      }),
    );
}
