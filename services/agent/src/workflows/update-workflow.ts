import { isDeepStrictEqual } from 'node:util';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { UpdateWorkflowInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { inWorkflow } from './in-workflow.ts';
import type { Workflow } from './workflow.ts';
import { workflowChanges } from './workflow-input.ts';
import { workflowStore } from './workflow-store.ts';

/** Updates a workflow. An update without changes writes nothing. @throws DomainError `notFound` if the workflow is absent or deleted */
export async function updateWorkflow(
  ports: Pick<Ports, 'database'>,
  request: TenantRequest,
  { id, input }: { id: number; input: UpdateWorkflowInput },
): Promise<Workflow> {
  const given = parseInput(workflowChanges, input);
  return inWorkflow(ports, request, id, async (db, workflow) =>
    isDeepStrictEqual({ ...workflow, ...given }, workflow) ? workflow : workflowStore(db).update(workflow.id, given),
  );
}
