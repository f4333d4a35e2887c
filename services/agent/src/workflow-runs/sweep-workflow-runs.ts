import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { repeated } from '@parley/kernel/timing/repeated';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { workflowRunStore } from './workflow-run-store.ts';

type SweepPorts = Pick<Ports, 'database'> & { workflowRuns: Pick<Ports['workflowRuns'], 'days'> };

const daysAtOnce = 100;
const rowsAtOnce = 200;

/**
 * Deletes old runs of all tenants. The last run of an active session is kept, because its next turn continues from it.
 */
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

/** @returns true when no run of `day` or an earlier day remains */
async function sweepSome(db: TenantDb, day: string, days: number): Promise<boolean> {
  if (await workflowRunStore(db).deleteUntil(day, days, rowsAtOnce)) return false;
  const { knex, tenantId } = db;
  await rowsBy(knex)(
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
