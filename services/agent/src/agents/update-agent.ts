import { isDeepStrictEqual } from 'node:util';
import type { TenantCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import { requireId } from '@parley/kernel/row-id';
import type { TenantDb } from '@parley/postgres/database/types';
import type { UpdateAgentInput } from '../generated/schema.ts';
import { checkModelOverride } from '../model-choice/model-override.ts';
import type { Ports } from '../ports.ts';
import { checkTools } from '../tools/check-tools.ts';
import { workflowStore } from '../workflows/workflow-store.ts';
import type { Agent, Changes } from './agent.ts';
import type { AgentFields } from './agent-input.ts';
import { agentChanges, checkAvatarBackend, checkSyncUrl } from './agent-input.ts';
import { agentQueueKey } from './agent-queue-key.ts';
import { agentStore } from './agent-store.ts';
import { auditLogStore } from './audit-log-store.ts';
import { checkKnowledgeBases } from './check-knowledge-bases.ts';
import { checkSecretRef } from './check-secret-ref.ts';

/** Updates an agent, and logs the actual changes in the same transaction. An update without changes writes nothing. */
export async function updateAgent(
  ports: Ports,
  request: TenantRequest,
  { id: agentId, input }: { id: string | number; input: UpdateAgentInput },
): Promise<Agent> {
  const { caller, signal } = request;
  const id = requireId('Agent', agentId);
  const given = parseInput(agentChanges, input);
  checkSyncUrl(ports, given);
  checkModelOverride(ports, given);
  await checkAdded(ports, request, id, given);
  return ports.database.transact(caller.tenantId, (db) => change(db, caller, id, given), {
    lockQueue: agentQueueKey(caller, id),
    signal,
  });
}

/** Checks only references that the update adds. The agent may keep its other references, even if their targets have been deleted since. */
async function checkAdded(
  ports: Ports,
  request: TenantRequest,
  id: number,
  { knowledgeBaseIds, tools, externalSyncSecretRef: secretRef }: Partial<AgentFields>,
): Promise<void> {
  if (!knowledgeBaseIds && !tools && !secretRef) return;
  const agent = await ports.database.read(request.caller.tenantId, (db) => agentStore(db).findLive(id));
  if (!agent) throw notFound('Agent', id);
  if (secretRef !== agent.externalSyncSecretRef) await checkSecretRef(ports, request, secretRef);
  await checkKnowledgeBases(ports, request, added(knowledgeBaseIds, agent.knowledgeBaseIds));
  await checkTools(ports, request, added(tools, agent.tools));
}

function added<T>(given: readonly T[] | null | undefined, before: readonly T[] | null): T[] {
  return (given ?? []).filter((each) => !before?.some((other) => isDeepStrictEqual(each, other)));
}

async function change(db: TenantDb, caller: TenantCaller, id: number, given: Partial<AgentFields>): Promise<Agent> {
  const agents = agentStore(db);
  const before = await agents.lockLive(id);
  const changes = changesOf(before, given);
  if (Object.keys(changes).length === 0) return before;
  checkAvatarBackend({ ...before, ...given });
  if (changes.workflowId && typeof given.workflowId === 'number') {
    await workflowStore(db).lockShared(given.workflowId);
  }
  const after = await agents.update(id, given);
  await auditLogStore(db).insert({
    agentId: id,
    action: 'UPDATE',
    userId: caller.userId ?? null,
    username: caller.displayName ?? null,
    changes,
  });
  return after;
}

function changesOf(before: Agent, given: Partial<AgentFields>): Changes {
  const fields = Object.entries(given) as [keyof AgentFields, unknown][];
  return Object.fromEntries(
    fields
      .filter(([field, to]) => !isDeepStrictEqual(before[field], to))
      .map(([field, to]) => [field, { from: before[field], to }]),
  );
}
