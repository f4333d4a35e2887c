import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';

/** Of calls of a turn; undefined where there was none. An embedding has no `tokensOut`. */
export function sumOf(
  one: TurnUsage | undefined,
  other: (Pick<TurnUsage, 'tokensIn' | 'costUsdE8'> & { tokensOut?: number }) | undefined,
): TurnUsage | undefined {
  if (!other) return one;
  const { tokensIn = 0, tokensOut = 0, costUsdE8 = 0n } = one ?? {};
  return {
    tokensIn: tokensIn + other.tokensIn,
    tokensOut: tokensOut + (other.tokensOut ?? 0),
    costUsdE8: costUsdE8 + other.costUsdE8,
  };
}
