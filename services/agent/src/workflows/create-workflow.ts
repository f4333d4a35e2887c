import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import { parseInput, withoutNulls } from '@parley/kernel/input';
import type { CreateWorkflowInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Workflow } from './workflow.ts';
import { newWorkflow } from './workflow-input.ts';
import { workflowStore } from './workflow-store.ts';

/** @throws DomainError `invalid`, e.g. if the tenant has reached its limit of workflows */
export async function createWorkflow(
  { database, workflows: limits }: Pick<Ports, 'database' | 'workflows'>,
  { caller, signal }: TenantRequest,
  input: CreateWorkflowInput,
): Promise<Workflow> {
  const fields = { description: null, draft: {}, ...parseInput(newWorkflow, withoutNulls(input)) };
  return database.transact(
    caller.tenantId,
    async (db) => {
      const store = workflowStore(db);
      if ((await store.lockedCount()) >= limits.perTenant) {
        throw badRequest(`A tenant has at most ${limits.perTenant} workflows`, 'LIMIT_REACHED');
      }
      return store.insert(fields);
    },
    { lockQueue: { row: `workflows of ${caller.tenantId}` }, signal },
  );
}
