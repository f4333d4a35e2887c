import type { TenantRequest } from '@parley/kernel/caller-request';
import { page, parseInput } from '@parley/kernel/input';
import { parseId } from '@parley/kernel/row-id';
import type { QueryWorkflowRunsArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { WorkflowRun } from './workflow-run.ts';
import { workflowRunStore } from './workflow-run-store.ts';

/**
 * Lists runs, newest first. For a session that is absent or another tenant's, the list is empty.
 * @throws DomainError `invalid`: the page arguments are invalid, or the list is too large (`ANSWER_TOO_LARGE`)
 */
export async function listWorkflowRuns(
  { database }: Ports,
  { caller }: TenantRequest,
  { sessionId: given, ...query }: QueryWorkflowRunsArgs,
): Promise<WorkflowRun[]> {
  const bounds = parseInput(page, query, '');
  const sessionId = parseId(given);
  if (sessionId === undefined) return [];
  return database.transact(caller.tenantId, (db) => workflowRunStore(db).listOf(sessionId, bounds));
}
