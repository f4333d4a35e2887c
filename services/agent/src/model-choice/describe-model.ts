import type { TenantRequest } from '@parley/kernel/caller-request';
import type { DescribeModelResponse } from '@parley/protos/parley/agent/v1/agent';
import type { Ports } from '../ports.ts';

export async function describeModel(
  ports: Ports,
  { caller }: TenantRequest,
  agentId: number,
): Promise<DescribeModelResponse> {
  const { first } = await ports.chooseModel(await ports.readAgent(caller.tenantId, agentId), caller);
  const { offline, providerId, modelId, contextTokens, maxOutputTokens } = first;
  const limits = offline ? { contextTokens: 0, maxOutputTokens: 0 } : { contextTokens, maxOutputTokens };
  return { offline, providerId, modelId, ...limits };
}
