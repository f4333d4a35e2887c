import type { TokenPrices, TurnUsage } from '@parley/protos/parley/agent/v1/agent';

const e18PerE8 = 10_000_000_000n;

export const noUsage: TurnUsage = { tokensIn: 0, tokensOut: 0, costUsdE8: 0n };

/** Of one request of a model. The cost is rounded up, as the ledger does, and 0 where the prices are unknown. */
export function usageOf(tokens: { tokensIn: number; tokensOut: number }, prices: TokenPrices | undefined): TurnUsage {
  if (!prices) return { ...tokens, costUsdE8: 0n };
  const costE18 = BigInt(tokens.tokensIn) * prices.inputUsdE18 + BigInt(tokens.tokensOut) * prices.outputUsdE18;
  return { ...tokens, costUsdE8: (costE18 + e18PerE8 - 1n) / e18PerE8 };
}

export function sumOf(one: TurnUsage, other: TurnUsage | undefined): TurnUsage {
  return {
    tokensIn: one.tokensIn + (other?.tokensIn ?? 0),
    tokensOut: one.tokensOut + (other?.tokensOut ?? 0),
    costUsdE8: one.costUsdE8 + (other?.costUsdE8 ?? 0n),
  };
}
