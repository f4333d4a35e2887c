import { invalid } from '@parley/kernel/errors';
import { parseInput, rule, text } from '@parley/kernel/input';
import type { SpendCall, SpendSettlement } from '@parley/protos/parley/identity/v1/identity';
import { z } from 'zod';

export interface MeteredCall extends Omit<SpendCall, 'costUsdE8'> {
  costUsd: string;
}

export interface Settlement extends MeteredCall {
  estimated: boolean;
  served: boolean;
}

/** Maximum cost of one call, in 1e-8 USD; the database column holds no more. */
const maxCostE8 = 10n ** 14n - 1n;

export const callId = text(200);
const id = z.int32().positive().optional();
const tokens = z.int32().nonnegative();
const cost = z
  .bigint()
  .check(rule((e8) => (e8 < 0n || e8 > maxCostE8 ? `must be between 0 and ${maxCostE8}` : undefined)));

const spendCall = z.object({
  callId,
  operation: text(100),
  providerId: text(255),
  modelId: text(255),
  apiKeyId: id,
  agentId: id,
  sessionId: id,
  tokensIn: tokens,
  tokensCached: tokens,
  tokensOut: tokens,
  costUsdE8: cost,
});
const settlements = z.object({
  settlements: z.array(z.object({ call: spendCall, estimated: z.boolean(), served: z.boolean() })).max(200),
});

export function meteredCall(call: SpendCall | undefined): MeteredCall {
  if (call === undefined) throw invalid({ path: 'call', message: 'must be given' });
  return metered(parseInput(spendCall, call, 'call'));
}

export function settlementsOf(given: readonly SpendSettlement[]): Settlement[] {
  const input = { settlements: given.map(({ call, ...rest }) => ({ ...rest, call: call as SpendCall })) };
  return parseInput(settlements, input, '').settlements.map(({ call, ...rest }) => ({ ...metered(call), ...rest }));
}

function metered({ costUsdE8, ...call }: SpendCall): MeteredCall {
  const digits = String(costUsdE8).padStart(9, '0');
  return { ...call, costUsd: `${digits.slice(0, -8)}.${digits.slice(-8)}` };
}
