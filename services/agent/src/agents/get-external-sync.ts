import type { TenantRequest } from '@parley/kernel/caller-request';
import type { GetExternalSyncResponse } from '@parley/protos/parley/agent/v1/agent';
import type { Ports } from '../ports.ts';
import { getAgent } from './read-agents.ts';

/**
 * Returns the current external sync settings of an agent, even if the agent is deleted. @throws DomainError `notFound` if the tenant never
 * had this agent
 */
export async function getExternalSync(
  ports: Ports,
  request: TenantRequest,
  agentId: number,
): Promise<GetExternalSyncResponse> {
  const agent = await getAgent(ports, request, agentId);
  const { externalSyncSchemaConfig: mapping } = agent;
  return {
    url: agent.externalSyncUrl ?? '',
    secretRef: agent.externalSyncSecretRef ?? '',
    ownerId: agent.externalSyncOwnerId ?? undefined,
    schemaConfigJson: mapping ? JSON.stringify(mapping) : '',
  };
}
