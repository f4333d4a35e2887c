import type { TenantRequest } from '@parley/kernel/caller-request';
import { requireId } from '@parley/kernel/row-id';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import type { Workflow } from './workflow.ts';
import { workflowStore } from './workflow-store.ts';

/** Runs a transaction that holds the lock of a live workflow. @throws DomainError `notFound` if the workflow is absent or deleted */
export async function inWorkflow<T>(
  { database }: Pick<Ports, 'database'>,
  { caller, signal }: TenantRequest,
  workflowId: number,
  work: (db: TenantDb, workflow: Workflow) => Promise<T>,
): Promise<T> {
  const id = requireId('Workflow', workflowId);
  return database.transact(caller.tenantId, async (db) => work(db, await workflowStore(db).lock(id)), {
    lockQueue: { row: `workflow ${caller.tenantId} ${id}` },
    signal,
  });
}
