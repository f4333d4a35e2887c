import { isDeepStrictEqual } from 'node:util';
import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { inWorkflow } from './in-workflow.ts';
import type { Workflow } from './workflow.ts';
import { workflowStore } from './workflow-store.ts';
import { workflowVersionStore } from './workflow-version-store.ts';

/**
 * Replaces the draft by an older version; the published version stays. @throws DomainError `notFound` if the workflow or the version is
 * absent
 */
export async function restoreWorkflowVersion(
  ports: Pick<Ports, 'database'>,
  request: TenantRequest,
  { id, version }: { id: number; version: number },
): Promise<Workflow> {
  return inWorkflow(ports, request, id, async (db, workflow) => {
    const { definition: draft } = await workflowVersionStore(db, workflow.id).get(version);
    return isDeepStrictEqual(draft, workflow.draft) ? workflow : workflowStore(db).update(workflow.id, { draft });
  });
}
