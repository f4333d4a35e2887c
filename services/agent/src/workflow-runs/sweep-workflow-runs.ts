import type { Logger } from '@parley/kernel/log';
import { repeated } from '@parley/kernel/repeated';
import type { Part } from '@parley/kernel/unit';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';

type SweepPorts = Pick<Ports, 'database' | 'workflowRuns'>;

const daysAtOnce = 100;
const rowsAtOnce = 200;

/** Deletes old runs of all tenants. The last one of a session that goes on stays: its next turn begins with it. */
export async function sweepWorkflowRuns(
  { database, workflowRuns: { days } }: SweepPorts,
  isStopping = () => false,
): Promise<void> {
  let after = { day: '-infinity', tenantId: 0 };
  for (;;) {
    const due = await database.transactShared(({ knex }) =>
      rowsBy(knex)<{ tenantId: number; day: string }>(
        `SELECT tenant_id, cast(day AS text) FROM workflow_run_days
          WHERE day < cast(parley_now() AT TIME ZONE 'UTC' AS date) - cast(:days AS integer)
            AND (day, tenant_id) > (cast(:day AS date), cast(:tenantId AS integer))
          ORDER BY day, tenant_id LIMIT ${daysAtOnce}`,
        { days, ...after },
      ),
    );
    for (const { tenantId, day } of due) {
      while (!isStopping() && !(await database.transact(tenantId, (db) => sweepSome(db, day, days))));
    }
    const last = due.at(-1);
    if (!last || due.length < daysAtOnce || isStopping()) return;
    after = last;
  }
}

/** True once nothing is left to delete of that day and before. */
async function sweepSome({ knex, tenantId }: TenantDb, day: string, days: number): Promise<boolean> {
  const rows = rowsBy(knex);
  const deleted = await rows(
    `DELETE FROM workflow_runs WHERE tenant_id = :tenantId AND id = ANY (ARRAY (
       SELECT run.id FROM workflow_runs AS run
        WHERE run.tenant_id = :tenantId AND run.created_at < (cast(:day AS date) + 1) AT TIME ZONE 'UTC'
          AND NOT (run.status IN ('WAITING', 'ENDED')
            AND EXISTS (SELECT FROM workflow_runs AS recent
                         WHERE recent.tenant_id = :tenantId AND recent.session_id = run.session_id
                           AND recent.updated_at > parley_now() - cast(:days AS integer) * interval '1 day')
            AND NOT EXISTS (SELECT FROM workflow_runs AS later
                             WHERE later.tenant_id = :tenantId AND later.session_id = run.session_id AND later.id > run.id
                               AND later.workflow_id = run.workflow_id AND later.status IN ('WAITING', 'ENDED')
                               AND (later.version IS NULL) = (run.version IS NULL)))
        LIMIT ${rowsAtOnce}))
     RETURNING id`,
    { tenantId, day, days },
  );
  if (deleted.length === rowsAtOnce) return false;
  await rows(
    `DELETE FROM workflow_run_days WHERE tenant_id = :tenantId AND day = cast(:day AS date) AND NOT EXISTS (
       SELECT FROM workflow_runs
        WHERE tenant_id = :tenantId AND created_at >= cast(:day AS date) AT TIME ZONE 'UTC'
          AND created_at < (cast(:day AS date) + 1) AT TIME ZONE 'UTC')`,
    { tenantId, day },
  );
  return true;
}

export function workflowRunSweep(ports: SweepPorts, log: Pick<Logger, 'warn'>): Part {
  const failure = 'old runs of workflows not deleted; will retry';
  const options = { name: 'sweep of workflow runs', pauseMs: 10 * 60_000, failure, log };
  return repeated(options, (stopping) => sweepWorkflowRuns(ports, () => stopping.aborted));
}
