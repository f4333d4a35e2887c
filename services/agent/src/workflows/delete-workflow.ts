import type { TenantRequest } from '@parley/kernel/caller-request';
import { conflict } from '@parley/kernel/errors';
import { agentStore } from '../agents/agent-store.ts';
import type { Ports } from '../ports.ts';
import { inWorkflow } from './in-workflow.ts';
import { workflowStore } from './workflow-store.ts';

const maxNamed = 10;

/**
 * Deletes a workflow. Its versions are kept, because sessions of deleted agents may still run them.
 * @throws DomainError `notFound` if the workflow is absent; `conflict` while it is attached to agents
 */
export async function deleteWorkflow(
  ports: Pick<Ports, 'database'>,
  request: TenantRequest,
  workflowId: number,
): Promise<boolean> {
  return inWorkflow(ports, request, workflowId, async (db, { id }) => {
    // A concurrent transaction that attaches the workflow to an agent holds the workflow's shared lock until its
    // commit.
    const attached = await agentStore(db).listWithWorkflow(id, maxNamed + 1);
    if (attached.length > 0) throw conflict(`Workflow ${id} is attached to ${namesOf(attached)}`, 'WORKFLOW_ATTACHED');
    await workflowStore(db).markDeleted(id);
    return true;
  });
}

function namesOf(agents: { id: number; name: string }[]): string {
  const named = agents.slice(0, maxNamed).map(({ id, name }) => `agent ${id} (${name})`);
  return agents.length > maxNamed ? `${named.join(', ')} and others` : named.join(', ');
}
