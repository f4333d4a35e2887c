import type { TenantCaller } from '@parley/kernel/caller';
import type { Ports } from './ports.ts';

export interface ModelDescription {
  /** Only the offline model could answer. */
  offline: boolean;
  /** Tokens of request and answer together, at most; 0 when `offline`. So for the next. */
  contextTokens: number;
  maxOutputTokens: number;
  providerId: string;
  modelId: string;
}

/** The model that would answer for an agent, and how much it takes. @throws DomainError `notFound` */
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
