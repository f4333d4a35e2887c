import type { Migration } from '@parley/postgres/database/types';

export const workflowRuns: Migration = {
  name: '009-workflow-runs',
  async up(knex) {
    await knex.raw(`
      -- One row for each turn of a session that runs a workflow. No foreign key to the session, because runs may
      -- outlive it.
      CREATE TABLE workflow_runs (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        session_id integer NOT NULL,
        workflow_id integer NOT NULL,
        version integer, -- null: the draft
        draft json, -- as it was when the run began
        turn_key text NOT NULL,
        attempt text NOT NULL, -- the one that may write
        status text NOT NULL CHECK (status IN ('RUNNING', 'WAITING', 'ENDED', 'FAILED', 'INTERRUPTED')),
        failure_code text,
        progress json NOT NULL, -- what another process goes on from
        trace json NOT NULL,
        tokens_in integer NOT NULL,
        tokens_out integer NOT NULL,
        cost_usd numeric(14, 8) NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        UNIQUE (tenant_id, turn_key),
        CHECK ((version IS NULL) = (draft IS NOT NULL))
      ) WITH (fillfactor = 80);
      CREATE INDEX workflow_runs_of_session ON workflow_runs (tenant_id, session_id, id);
      CREATE INDEX workflow_runs_age ON workflow_runs (tenant_id, created_at);

      -- The days on which tenants have runs, so that a sweep finds old runs.
      CREATE TABLE workflow_run_days (
        tenant_id integer NOT NULL,
        day date NOT NULL,
        PRIMARY KEY (day, tenant_id)
      );
    `);
  },
};
