import { notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import { columnsWithin, listWithin } from '@parley/postgres/database/list-within';
import { rowsBy } from '@parley/postgres/database/rows';
import { columnsOf, written } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { type Workflow, type WorkflowFields, workflows } from './workflow.ts';

/** Reads and writes live workflows; deleted ones count as absent. */
export function workflowStore(db: TenantDb) {
  const { knex, tenantId } = db;
  const rows = rowsBy(knex);
  const live = () => knex<Workflow>('workflows').where({ tenantId }).whereNull('deletedAt');
  const now = knex.raw('parley_now()');
  const row = knex.raw(columnsOf(workflows));

  return {
    async find(id: number): Promise<Workflow | undefined> {
      return parseId(id) === undefined ? undefined : live().where({ id }).first(row);
    },
    /** @throws DomainError `notFound` if the workflow is absent or deleted */
    async get(id: number): Promise<Workflow> {
      const workflow = await this.find(id);
      if (!workflow) throw notFound('Workflow', id);
      return workflow;
    },
    async exists(id: number): Promise<boolean> {
      return parseId(id) !== undefined && (await live().where({ id }).first('id')) !== undefined;
    },
    /** @throws DomainError `notFound` if the workflow is absent or deleted */
    async lock(id: number): Promise<Workflow> {
      await rows('SELECT FROM workflows WHERE tenant_id = :tenantId AND id = :id AND deleted_at IS NULL FOR UPDATE', {
        tenantId,
        id: parseId(id) ?? 0,
      });
      // The workflow is read by a separate statement, because a statement that waited for the lock does not see versions published during
      // the wait.
      return this.get(id);
    },
    /** Prevents the deletion of a workflow until the commit. @throws DomainError `notFound` if the workflow is absent or deleted */
    async lockShared(id: number): Promise<void> {
      const workflow = parseId(id) === undefined ? undefined : await live().where({ id }).forShare().first('id');
      if (!workflow) throw notFound('Workflow', id);
    },
    async list(): Promise<Workflow[]> {
      const query = live().select(knex.raw(columnsWithin(db, workflows)));
      return listWithin<Workflow>(db, query.orderBy('id'));
    },
    /** Counts the tenant's workflows. No other transaction can count them until this one commits. */
    async lockedCount(): Promise<number> {
      await rows(
        `SELECT pg_advisory_xact_lock(hashtext(current_schema() || '.workflows'), cast(:tenantId AS integer))`,
        {
          tenantId,
        },
      );
      const counted = await live().count<{ count: number }[]>({ count: '*' }).first();
      return Number(counted?.count ?? 0);
    },
    async insert(fields: WorkflowFields): Promise<Workflow> {
      const [workflow] = await knex('workflows').insert({ ...written(workflows, fields), tenantId }, row as never);
      return workflow;
    },
    async update(id: number, fields: Partial<WorkflowFields & Pick<Workflow, 'publishedVersion'>>): Promise<Workflow> {
      const [workflow] = await knex('workflows')
        .where({ tenantId, id })
        .update({ ...written(workflows, fields), updatedAt: now }, row as never);
      return workflow as Workflow;
    },
    async markDeleted(id: number): Promise<void> {
      await knex('workflows').where({ tenantId, id }).update({ deletedAt: now, updatedAt: now });
    },
  };
}
