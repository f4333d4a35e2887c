import type { Migration } from '@parley/postgres/database/types';

export const workflowRunBytes: Migration = {
  name: '011-workflow-run-bytes',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE workflow_runs
        -- The size of progress, trace and draft; 0 until the run has stopped for the first time.
        ADD COLUMN bytes integer NOT NULL DEFAULT 0,
        -- False once the session no longer continues from this run; then progress and draft are empty.
        ADD COLUMN has_state boolean NOT NULL DEFAULT true;
      UPDATE workflow_runs
         SET bytes = octet_length(cast(progress AS text)) + octet_length(cast(trace AS text))
                     + coalesce(octet_length(cast(draft AS text)), 0)
       WHERE status <> 'RUNNING';

      -- The total size of each tenant's runs.
      CREATE TABLE workflow_run_bytes (
        tenant_id integer PRIMARY KEY,
        bytes bigint NOT NULL
      );
      INSERT INTO workflow_run_bytes (tenant_id, bytes) SELECT tenant_id, sum(bytes) FROM workflow_runs GROUP BY tenant_id;
    `);
  },
};
