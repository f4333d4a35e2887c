import type { TenantCaller } from '@parley/kernel/caller';
import type { Ports } from './ports.ts';

export interface ModelDescription {
  /** True if only the offline model is configured. */
  offline: boolean;
  /** Maximum tokens of request and answer together; 0 when `offline`. */
  contextTokens: number;
  /** Maximum tokens of an answer; 0 when `offline`. */
  maxOutputTokens: number;
  providerId: string;
  modelId: string;
}

/** The model that would answer for an agent, and its limits. @throws DomainError `notFound` */
export async function describeModel(
  ports: Pick<Ports, 'readAgent' | 'chooseModel'>,
  caller: TenantCaller,
  agentId: number,
): Promise<ModelDescription> {
  const model = await ports.chooseModel(await ports.readAgent(caller.tenantId, agentId), caller);
  const { offline, providerId, modelId, contextTokens, maxOutputTokens } = model;
  const limits = offline ? { contextTokens: 0, maxOutputTokens: 0 } : { contextTokens, maxOutputTokens };
  return { offline, providerId, modelId, ...limits };
}
