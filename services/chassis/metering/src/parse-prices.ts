import { isJsonObject, parseJson } from '@parley/kernel/json';
import { z } from 'zod';
import type { ModelPrice } from './model-price.ts';

export interface ParsedPrices {
  prices: Map<string, ModelPrice>;
  /** The problems of the price file, one line each. A problem of an entry begins with the entry's name. */
  problems: string[];
}

const cost = z.number('is not a number').nonnegative('is below 0').optional();
const tokens = z.number('is not a number').int('is not a whole number').nonnegative('is below 0').nullish();

const entry = z.looseObject({
  input_cost_per_token: cost,
  output_cost_per_token: cost,
  output_cost_per_reasoning_token: cost,
  cache_read_input_token_cost: cost,
  cache_creation_input_token_cost: cost,
  max_input_tokens: tokens,
  max_output_tokens: tokens,
  max_tokens: tokens,
  supports_vision: z.boolean('is neither true nor false').nullish(),
});

/** The entry in which LiteLLM describes its format; its values are texts, not prices. */
const example = 'sample_spec';

/** Modes of models that read text and are billed by token. An entry without a mode is treated as one of these models. */
const modes: unknown[] = ['chat', 'completion', 'responses', 'embedding', undefined, null];

/** Reads a price file in LiteLLM's format. Skips entries that lack a cost per token or whose mode is not for text (images, speech). */
export function parsePrices(text: string): ParsedPrices {
  const prices = new Map<string, ModelPrice>();
  const file = parseJson(text);
  if (!isJsonObject(file)) return { prices, problems: ['is no JSON object'] };
  const problems: string[] = [];
  for (const [modelId, value] of Object.entries(file)) {
    if (modelId === example) continue;
    const { success, data, error } = entry.safeParse(value);
    if (success) {
      const price = priceOf(modelId, data);
      if (price) prices.set(modelId, price);
    } else problems.push(...error.issues.map(({ path, message }) => [modelId, ...path, message].join(' ')));
  }
  return { prices, problems };
}

function priceOf(modelId: string, given: z.output<typeof entry>): ModelPrice | undefined {
  const { input_cost_per_token: input, output_cost_per_token: output } = given;
  if (input === undefined || output === undefined || !modes.includes(given['mode'])) return undefined;
  // Reasoning tokens are a part of the output tokens that a provider counts. All output tokens are counted at the higher of the two prices,
  // so no call costs more than is counted.
  const dearestOutput = Math.max(output, given.output_cost_per_reasoning_token ?? 0);
  const { cache_creation_input_token_cost: written = 0 } = given;
  return {
    // Providers that do not cache by themselves write to their cache only if a call requests it. So the price of writing counts only for
    // providers that cache by themselves.
    inputUsdE18: usdE18(cachesByItself.includes(given['litellm_provider']) ? Math.max(input, written) : input),
    cachedInputUsdE18: usdE18(given.cache_read_input_token_cost ?? input),
    outputUsdE18: usdE18(dearestOutput),
    costsMore: costsMore(modelId, given),
    contextTokens: contextOf(given),
    maxOutputTokens: given.max_output_tokens || given.max_tokens || undefined,
    vision: given.supports_vision ?? false,
    embeds: given['mode'] === 'embedding',
  };
}

const cachesByItself: unknown[] = ['openai', 'azure'];

/** Fields of costs beyond tokens. Fields for audio and images in answers are not listed, because no call requests such answers. */
const costsBesideTokens = [
  'input_cost_per_request',
  'input_cost_per_query',
  'input_cost_per_image',
  'citation_cost_per_token',
];
/** Matches the names of models that always search the web. Only some entries of the price list have the cost of a search. */
const searchesAlways = /\b(?:deep-research|search|sonar|online)\b/u;

function costsMore(modelId: string, given: Record<string, unknown>): boolean {
  return costsBesideTokens.some((field) => Number(given[field]) > 0) || searchesAlways.test(modelId);
}

/** Returns the context size up to which the entry's base price applies. Its higher prices for longer requests are not used. */
function contextOf(given: z.output<typeof entry>): number | undefined {
  const legacy = given.max_output_tokens ? undefined : given.max_tokens;
  const declared = given.max_input_tokens || legacy || Number.POSITIVE_INFINITY;
  const dearerAbove = Object.keys(given)
    .map((field) => /^(?:in|out)put_cost_per_token_above_(\d+)k_tokens$/u.exec(field)?.[1])
    .filter((thousands) => thousands !== undefined)
    .map((thousands) => Number(thousands) * 1_000);
  const tiers: unknown = given['tiered_pricing'];
  const range: unknown = Array.isArray(tiers) ? tiers[0]?.range?.[1] : undefined;
  if (typeof range === 'number') dearerAbove.push(range);
  const maxTokens = Math.min(declared, ...dearerAbove);
  return maxTokens === Number.POSITIVE_INFINITY ? undefined : maxTokens;
}

/** Returns the exact value of a number's shortest decimal text, in 1e-18 USD. Digits beyond the 18th decimal place are rounded up. */
export function usdE18(usd: number): bigint {
  const [mantissa = '0', exponent = '0'] = usd.toString().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  const shift = 18 + Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor - 1n) / divisor;
}
