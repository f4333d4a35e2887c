import { isJsonObject, parseJson } from '@parley/kernel/json';
import { z } from 'zod';
import type { ModelPrice } from './model-price.ts';

export interface ParsedPrices {
  prices: Map<string, ModelPrice>;
  /** One line each, with the name of the entry. */
  problems: string[];
}

const cost = z.number('is not a number').nonnegative('is below 0').optional();
const tokens = z.number('is not a number').int('is not a whole number').nonnegative('is below 0').nullish();

const entry = z.looseObject({
  input_cost_per_token: cost,
  output_cost_per_token: cost,
  cache_read_input_token_cost: cost,
  max_input_tokens: tokens,
  max_output_tokens: tokens,
  max_tokens: tokens,
  supports_vision: z.boolean('is neither true nor false').nullish(),
});

/** LiteLLM's own description of an entry, whose values are texts. */
const example = 'sample_spec';

/** Reads LiteLLM's format. Entries without both costs of a token (images, speech, descriptions) are no prices and left out. */
export function parsePrices(text: string): ParsedPrices {
  const prices = new Map<string, ModelPrice>();
  const file = parseJson(text);
  if (!isJsonObject(file)) return { prices, problems: ['is no JSON object'] };
  const problems: string[] = [];
  for (const [modelId, value] of Object.entries(file)) {
    if (modelId === example) continue;
    const { success, data, error } = entry.safeParse(value);
    if (success) {
      const price = priceOf(data);
      if (price) prices.set(modelId, price);
    } else problems.push(...error.issues.map(({ path, message }) => [modelId, ...path, message].join(' ')));
  }
  return { prices, problems };
}

function priceOf(given: z.output<typeof entry>): ModelPrice | undefined {
  const { input_cost_per_token: input, output_cost_per_token: output } = given;
  if (input === undefined || output === undefined) return undefined;
  return {
    inputUsdE18: usdE18(input),
    cachedInputUsdE18: usdE18(given.cache_read_input_token_cost ?? input),
    outputUsdE18: usdE18(output),
    contextTokens: contextOf(given),
    maxOutputTokens: given.max_output_tokens || given.max_tokens || undefined,
    vision: given.supports_vision ?? false,
  };
}

/** Ends where a higher price of long requests begins, since only the first one is used. */
function contextOf(given: z.output<typeof entry>): number | undefined {
  const legacy = given.max_output_tokens ? undefined : given.max_tokens;
  const declared = given.max_input_tokens || legacy || Number.POSITIVE_INFINITY;
  const dearerAbove = Object.keys(given)
    .map((field) => /^(?:in|out)put_cost_per_token_above_(\d+)k_tokens$/u.exec(field)?.[1])
    .filter((thousands) => thousands !== undefined)
    .map((thousands) => Number(thousands) * 1_000);
  const most = Math.min(declared, ...dearerAbove);
  return most === Number.POSITIVE_INFINITY ? undefined : most;
}

/** The exact value of a number's shortest decimal text; digits beyond the 18th are rounded up. */
export function usdE18(usd: number): bigint {
  const [mantissa = '0', exponent = '0'] = usd.toString().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const shift = 18 + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor - 1n) / divisor;
}
