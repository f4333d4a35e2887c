import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, withoutNulls } from '@parley/kernel/input';
import type { CreateAgentInput } from '../generated/schema.ts';
import { checkModelOverride } from '../model-choice/model-override.ts';
import type { Ports } from '../ports.ts';
import { checkTools } from '../tools/check-tools.ts';
import type { Agent } from './agent.ts';
import { agentDefaults, checkAvatarBackend, checkSyncUrl, newAgent } from './agent-input.ts';
import { agentStore } from './agent-store.ts';
import { checkKnowledgeBases } from './check-knowledge-bases.ts';
import { checkSecretRef } from './check-secret-ref.ts';

export async function createAgent(ports: Ports, request: TenantRequest, input: CreateAgentInput): Promise<Agent> {
  const fields = { ...agentDefaults, ...parseInput(newAgent, withoutNulls(input)) };
  checkAvatarBackend(fields);
  checkSyncUrl(ports, fields);
  checkModelOverride(ports, fields);
  await checkSecretRef(ports, request, fields.externalSyncSecretRef);
  await checkKnowledgeBases(ports, request, fields.knowledgeBaseIds ?? []);
  await checkTools(ports, request, fields.tools ?? []);
  return ports.database.transact(request.caller.tenantId, (db) => agentStore(db).insert(fields));
}
