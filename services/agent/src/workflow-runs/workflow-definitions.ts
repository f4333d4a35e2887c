import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { WorkflowDefinition } from '../workflow/definition.ts';

export interface PublishedWorkflow {
  version: number;
  definition: WorkflowDefinition;
}

/** Reads the definitions of one workflow for runs, even if the workflow is deleted. */
export function workflowDefinitions({ knex, tenantId }: TenantDb, workflowId: number) {
  const rows = rowsBy(knex);
  return {
    /**
     * Returns the version that was current at this time (millisecond precision). Returns the newest version if none was published by that
     * time, or if no time is given.
     */
    async published(at: Date | undefined): Promise<PublishedWorkflow | undefined> {
      const [found] = await rows<PublishedWorkflow>(
        `SELECT version, definition FROM workflow_versions
          WHERE tenant_id = :tenantId AND workflow_id = :workflowId
          ORDER BY coalesce(published_at < cast(:at AS timestamptz) + interval '1 ms', false) DESC, version DESC LIMIT 1`,
        { tenantId, workflowId, at: at?.toISOString() ?? null },
      );
      return found;
    },
    async version(version: number): Promise<PublishedWorkflow | undefined> {
      const [found] = await rows<PublishedWorkflow>(
        `SELECT version, definition FROM workflow_versions
          WHERE tenant_id = :tenantId AND workflow_id = :workflowId AND version = :version`,
        { tenantId, workflowId, version },
      );
      return found;
    },
    /** Returns the draft, which may be any JSON object, valid or not; undefined if there is no such workflow. */
    async draft(): Promise<object | undefined> {
      const [found] = await rows<{ draft: object }>(
        'SELECT draft FROM workflows WHERE tenant_id = :tenantId AND id = :workflowId AND deleted_at IS NULL',
        { tenantId, workflowId },
      );
      return found?.draft;
    },
  };
}
