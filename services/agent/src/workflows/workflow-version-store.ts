import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { columnsOf, written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type WorkflowVersion, workflowVersions } from './workflow.ts';

/** Reads and inserts versions, which never change. Versions of a deleted workflow can still be read. */
export function workflowVersionStore(db: TenantDb, workflowId: number) {
  const { knex, tenantId } = db;
  const mine = () => knex<WorkflowVersion>('workflow_versions').where({ tenantId, workflowId });

  return {
    /** @throws DomainError `notFound` if the workflow has no such version */
    async get(version: number): Promise<WorkflowVersion> {
      const found =
        parseId(version) === undefined
          ? undefined
          : await mine()
              .where({ version })
              .first<WorkflowVersion>(knex.raw(columnsOf(workflowVersions)));
      if (!found) throw notFound('Workflow version', version);
      return found;
    },
    /** Lists versions, newest first. */
    async list(): Promise<WorkflowVersion[]> {
      const query = mine().select(knex.raw(columnsWithin(db, workflowVersions)));
      return listWithin<WorkflowVersion>(db, query.orderBy('version', 'desc'));
    },
    async insert(fields: Pick<WorkflowVersion, 'version' | 'definition' | 'publishedBy'>): Promise<void> {
      await knex('workflow_versions').insert({ ...written(workflowVersions, fields), tenantId, workflowId });
    },
  };
}
