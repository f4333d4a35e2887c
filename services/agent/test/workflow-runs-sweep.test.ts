import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { agentSchema } from '../src/agent-schema.ts';
import { sweepWorkflowRuns } from '../src/workflow-runs/sweep-workflow-runs.ts';

interface Row {
  sessionId: number;
  status: string;
  daysOld: number;
  version?: number | null;
}

test('runs are kept for 30 days, the last state of a session that goes on as long as that', async (t) => {
  const database = await testSchema(t, agentSchema);
  const insert = (tenantId: number, rows: Row[]) =>
    database.transact(tenantId, async ({ knex }) => {
      for (const [n, { sessionId, status, daysOld, version = 1 }] of rows.entries()) {
        const age = `parley_now() - interval '${daysOld} days'`;
        await knex.raw(
          `INSERT INTO workflow_runs (tenant_id, session_id, workflow_id, version, draft, turn_key, attempt, status, progress, trace,
                                      tokens_in, tokens_out, cost_usd, created_at, updated_at)
           VALUES (:tenantId, :sessionId, 1, :version, cast(:draft AS json), :turnKey, 'a', :status, '{}', '[]', 0, 0, 0, ${age}, ${age})`,
          { tenantId, sessionId, version, draft: version === null ? '{}' : null, turnKey: `${sessionId}.${n}`, status },
        );
        await knex.raw(
          `INSERT INTO workflow_run_days (tenant_id, day) VALUES (:tenantId, cast(${age} AS date)) ON CONFLICT DO NOTHING`,
          { tenantId },
        );
      }
    });
  await insert(1, [
    { sessionId: 1, status: 'ENDED', daysOld: 40 },
    { sessionId: 1, status: 'WAITING', daysOld: 35 },
    { sessionId: 1, status: 'ENDED', daysOld: 35, version: null },
    { sessionId: 1, status: 'FAILED', daysOld: 34 },
    { sessionId: 1, status: 'INTERRUPTED', daysOld: 2 },
    { sessionId: 2, status: 'WAITING', daysOld: 33 },
    { sessionId: 3, status: 'ENDED', daysOld: 29 },
  ]);
  await insert(2, [{ sessionId: 2, status: 'ENDED', daysOld: 1_000 }]);
  const ports = { database, workflowRuns: { days: 30, nodes: 50, turnTimeMs: 1 } };
  await sweepWorkflowRuns(ports);
  await sweepWorkflowRuns(ports);
  const remaining = (tenantId: number) =>
    database.transact(tenantId, async ({ knex }) =>
      (await knex('workflow_runs').orderBy('id')).map((row: { turnKey: string }) => row.turnKey),
    );
  t.deepEqual(await remaining(1), ['1.1', '1.2', '1.4', '3.6']);
  t.deepEqual(await remaining(2), []);
  const days = await database.transactShared(async ({ knex }) => knex('workflow_run_days'));
  t.deepEqual(
    days.map((row: { tenantId: number }) => row.tenantId),
    [1, 1, 1],
    'one is left for the state that is kept',
  );
});
