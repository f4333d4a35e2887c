import type { TurnUsage } from './gen/parley/agent/v1/agent.ts';

export const noUsage: Readonly<TurnUsage> = {
  tokensIn: 0,
  tokensOut: 0,
  costUsdE8: 0n,
  contextTokens: 0,
  providerId: '',
  modelId: '',
  estimated: false,
};

/** Adds two usages. Model and context size come from `later` if it has these fields. Usage of embeddings has no `tokensOut`. */
export function sumOf(
  earlier: TurnUsage,
  later: Pick<TurnUsage, 'tokensIn' | 'costUsdE8'> & Partial<TurnUsage>,
): TurnUsage {
  return {
    tokensIn: earlier.tokensIn + later.tokensIn,
    tokensOut: earlier.tokensOut + (later.tokensOut ?? 0),
    costUsdE8: earlier.costUsdE8 + later.costUsdE8,
    contextTokens: later.contextTokens ?? 0,
    providerId: later.providerId || earlier.providerId,
    modelId: later.modelId || earlier.modelId,
    estimated: earlier.estimated || (later.estimated ?? false),
  };
}
