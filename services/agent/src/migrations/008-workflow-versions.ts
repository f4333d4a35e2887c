import type { Migration } from '@parley/postgres/database/types';

export const workflowVersions: Migration = {
  name: '008-workflow-versions',
  async up(knex) {
    await knex.raw(`
      -- Definitions are json, not jsonb, which would sort their nodes.
      ALTER TABLE workflows
        ADD COLUMN description text,
        ADD COLUMN draft json NOT NULL DEFAULT '{}',
        ADD COLUMN deleted_at timestamptz;
      CREATE INDEX workflows_listed ON workflows (tenant_id, id) WHERE deleted_at IS NULL;

      -- Rows are only inserted. Versions of a deleted workflow stay for the sessions that run them.
      CREATE TABLE workflow_versions (
        tenant_id integer NOT NULL,
        workflow_id integer NOT NULL,
        version integer NOT NULL CHECK (version > 0),
        definition json NOT NULL,
        published_at timestamptz NOT NULL DEFAULT parley_now(),
        published_by integer, -- a user; no reference, it outlives them
        PRIMARY KEY (tenant_id, workflow_id, version),
        FOREIGN KEY (tenant_id, workflow_id) REFERENCES workflows (tenant_id, id)
      );
    `);
  },
};
