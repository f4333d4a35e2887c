import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import type { Workflow, WorkflowVersion } from './workflow.ts';
import { workflowStore } from './workflow-store.ts';
import { workflowVersionStore } from './workflow-version-store.ts';

export async function findWorkflow(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  id: number,
): Promise<Workflow | undefined> {
  return database.read(caller.tenantId, (db) => workflowStore(db).find(id));
}

/**
 * Lists workflows, ordered by id.
 * @throws DomainError `invalid` with `ANSWER_TOO_LARGE` if the list is too large
 */
export async function listWorkflows(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
): Promise<Workflow[]> {
  return database.transact(caller.tenantId, (db) => workflowStore(db).list());
}

/** Lists versions, newest first. @throws DomainError `notFound` if the workflow is absent or deleted */
export async function listWorkflowVersions(
  { database }: Pick<Ports, 'database'>,
  { caller }: TenantRequest,
  workflowId: number,
): Promise<WorkflowVersion[]> {
  return database.transact(caller.tenantId, async (db) => {
    if (!(await workflowStore(db).exists(workflowId))) throw notFound('Workflow', workflowId);
    return workflowVersionStore(db, workflowId).list();
  });
}
