import type { TenantRequest } from '@parley/kernel/caller-request';
import type { ToolRef } from '@parley/protos/parley/action/v1/action';
import type { AgentTool } from '../agents/agent-input.ts';
import type { Ports } from '../ports.ts';

/**
 * @throws DomainError `notFound`: a connector or action is absent, deleted or another tenant's
 * @throws DomainError `unavailable`: the action service cannot be reached
 */
export async function checkTools(
  { action }: Pick<Ports, 'action'>,
  { caller }: TenantRequest,
  tools: readonly AgentTool[],
): Promise<void> {
  if (tools.length === 0) return;
  await action.checkTools({ tools: tools.map(toolRef) }, { caller, expectedErrors: ['notFound'] });
}

export function toolRef(tool: AgentTool): ToolRef {
  return 'actionId' in tool
    ? { target: { $case: 'actionId', value: tool.actionId } }
    : { target: { $case: 'tool', value: { connectorId: tool.connectorId, name: tool.tool } } };
}
