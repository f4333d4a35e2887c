import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSettings, SettingsError } from '@parley/kernel/settings/config';
import test, { type ExecutionContext } from 'ava';
import { parsePrices } from './parse-prices.ts';
import { readPrices, shippedPrices } from './prices.ts';
import { pricesSetting } from './prices-setting.ts';

function fileOf(t: ExecutionContext, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'prices-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'prices.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const costs = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };

test('every shipped entry is a price with its limits, and the file has its date', (t) => {
  const text = readFileSync(new URL('shipped-prices.json', import.meta.url), 'utf8');
  const { prices, problems } = parsePrices(text);

  t.deepEqual(problems, []);
  t.is(prices.size, Object.keys(JSON.parse(text)).length - 1);
  t.true(prices.size >= 40);
  const isEmbedding = (modelId: string) => JSON.parse(text)[modelId].mode === 'embedding';
  for (const [modelId, price] of prices) {
    t.true(price.inputUsdE18 > 0n && price.contextTokens !== undefined, modelId);
    if (isEmbedding(modelId)) continue;
    t.true(price.outputUsdE18 >= price.inputUsdE18 && price.inputUsdE18 >= price.cachedInputUsdE18, modelId);
    t.true(price.cachedInputUsdE18 > 0n && (price.contextTokens ?? 0) >= 8_192, modelId);
    t.true((price.maxOutputTokens ?? 0) >= 4_096, modelId);
  }
  t.regex(JSON.parse(text).sample_spec.taken, /^\d{4}-\d\d-\d\d$/u);
});

test('a model is found by its id, or by its id after the name of a vendor', (t) => {
  const prices = shippedPrices();

  t.like(prices.find('gpt-4o'), { inputUsdE18: 2_500_000_000_000n, maxOutputTokens: 16_384, vision: true });
  t.like(prices.find('gemini-2.5-flash'), { outputUsdE18: 2_500_000_000_000n });
  t.deepEqual(prices.find('gemini-2.5-flash'), prices.find('gemini/gemini-2.5-flash'));
  t.is(prices.find('gpt-4o-'), undefined);
  t.is(prices.find('toString'), undefined);
  t.is(prices.find(''), undefined);
});

test("the operator's entries come before the shipped ones, also where theirs names the vendor", (t) => {
  const path = fileOf(t, { 'openai/gpt-4o': costs, mine: { ...costs, mode: 'chat', anything: { else: [] } } });
  const { prices } = readPrices(path);

  t.is(prices.find('gpt-4o')?.inputUsdE18, 1_000_000_000_000n);
  t.deepEqual(prices.find('mine'), {
    inputUsdE18: 1_000_000_000_000n,
    cachedInputUsdE18: 1_000_000_000_000n,
    outputUsdE18: 2_000_000_000_000n,
    costsMore: false,
    contextTokens: undefined,
    maxOutputTokens: undefined,
    vision: false,
    embeds: false,
  });
  t.is(prices.find('gpt-4o-mini')?.inputUsdE18, 150_000_000_000n);
});

test('if thoughts cost more than other output, all output has their price', (t) => {
  const of = (more: object) => parsePrices(JSON.stringify({ m: { ...costs, ...more } })).prices.get('m')?.outputUsdE18;

  t.is(of({ output_cost_per_reasoning_token: 4e-6 }), 4_000_000_000_000n);
  t.is(of({ output_cost_per_reasoning_token: 1e-6 }), 2_000_000_000_000n);
});

test('input has the price of cache writes for vendors that cache automatically', (t) => {
  const of = (litellm_provider: string, cost = 3e-6) =>
    parsePrices(
      JSON.stringify({ m: { ...costs, litellm_provider, cache_creation_input_token_cost: cost } }),
    ).prices.get('m')?.inputUsdE18;

  t.is(of('openai'), 3_000_000_000_000n);
  t.is(of('openai', 0), 1_000_000_000_000n);
  t.is(of('anthropic'), 1_000_000_000_000n);
});

test('a model with costs beyond its tokens is marked as such', (t) => {
  const of = (more: object, modelId = 'm') =>
    parsePrices(JSON.stringify({ [modelId]: { ...costs, ...more } })).prices.get(modelId)?.costsMore;

  t.is(of({ input_cost_per_request: 0.005 }), true);
  t.is(of({ citation_cost_per_token: 2e-6 }), true);
  t.is(of({ input_cost_per_image: 0.001 }), true);
  t.is(of({ input_cost_per_image: 0 }), false);
  const search = { search_context_cost_per_query: { search_context_size_low: 0.01 } };
  t.is(of(search, 'claude-sonnet-4-5'), false, 'it searches only where a call asks it to');
  t.is(of(search, 'perplexity/sonar-pro'), true);
  t.is(of({}, 'vercel_ai_gateway/perplexity/sonar'), true);
  t.is(of({}, 'gpt-4o-search-preview'), true);
  t.is(of({}, 'azure/o3-deep-research'), true);
  t.is(of({}, 'deepinfra/NousResearch/Hermes-3'), false);
  t.is(
    of({ input_cost_per_audio_token: 1, output_cost_per_image_token: 1 }),
    false,
    'no call has sound or asks for images',
  );
});

test('entries that lack a token cost, have another mode, or describe the format are no prices', (t) => {
  const { prices, problems } = parsePrices(
    JSON.stringify({
      sample_spec: { input_cost_per_token: 0, max_tokens: 'LEGACY parameter', output_cost_per_token: 0 },
      'dall-e-3': { mode: 'image_generation', output_cost_per_image: 0.04 },
      'gpt-image-1': { ...costs, mode: 'image_generation' },
      half: { input_cost_per_token: 1e-6 },
      free: { input_cost_per_token: 0, output_cost_per_token: 0 },
    }),
  );

  t.deepEqual(problems, []);
  t.deepEqual([...prices.keys()], ['free']);
});

test('the context is limited to the size at which a higher price of long requests begins', (t) => {
  const of = (more: object) => parsePrices(JSON.stringify({ m: { ...costs, ...more } })).prices.get('m')?.contextTokens;

  t.is(of({ max_input_tokens: 1_000_000 }), 1_000_000);
  t.is(of({ max_input_tokens: 1_000_000, input_cost_per_token_above_200k_tokens: 2e-6 }), 200_000);
  t.is(of({ max_input_tokens: 128_000, output_cost_per_token_above_272k_tokens: 2e-6 }), 128_000);
  const tiered_pricing = [{ range: [0, 256_000], input_cost_per_token: 1e-6 }, { range: [256_000, 1_000_000] }];
  t.is(of({ max_input_tokens: 1_000_000, tiered_pricing }), 256_000);
  t.is(of({ max_tokens: 8_192, max_input_tokens: 0 }), 8_192);
  t.is(of({ max_tokens: 8_192, max_output_tokens: 8_192 }), undefined);
});

test('an error names every problem of the file', (t) => {
  const path = fileOf(t, {
    a: { input_cost_per_token: -1, output_cost_per_token: '0.1' },
    b: 'free',
    c: { ...costs, max_input_tokens: 1.5, supports_vision: 'yes' },
    d: costs,
  });
  const error = t.throws(() => readSettings({ LLM_PRICES_FILE: path }, { prices: pricesSetting }), {
    instanceOf: SettingsError,
  });

  t.deepEqual(error.problems, [
    'LLM_PRICES_FILE: a input_cost_per_token is below 0',
    'LLM_PRICES_FILE: a output_cost_per_token is not a number',
    'LLM_PRICES_FILE: b Invalid input: expected object, received string',
    'LLM_PRICES_FILE: c max_input_tokens is not a whole number',
    'LLM_PRICES_FILE: c supports_vision is neither true nor false',
  ]);
});

test('a file that is missing or no JSON object is an error', (t) => {
  t.deepEqual(readPrices('/nowhere/prices.json').problems, ['cannot be read (ENOENT)']);
  for (const text of ['', '[]', '{"a": ']) t.deepEqual(readPrices(fileOf(t, text)).problems, ['is no JSON object']);
});
