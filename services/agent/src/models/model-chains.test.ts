import { createLogger } from '@parley/kernel/telemetry/log';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { parsePrices } from '@parley/metering/parse-prices';
import type { Prices } from '@parley/metering/prices';
import { startModelServer } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { modelChains } from './model-chains.ts';
import type { ProviderSettings } from './model-settings.ts';
import { createModels } from './models.ts';
import { ask } from './testing/model-on-server.ts';
import { defaultProvider } from './testing/provider-settings.ts';

const cloud: ProviderSettings = { ...defaultProvider, id: 'CLOUD_HOSTED_MODELS', modelId: 'own' };

type Costs = Record<string, [input: number, output: number]>;

function pricesOf(costs: Costs): Prices {
  const entries = Object.entries(costs).map(
    ([id, [input, output]]) => [id, { input_cost_per_token: input, output_cost_per_token: output }] as const,
  );
  const { prices } = parsePrices(JSON.stringify(Object.fromEntries(entries)));
  return { find: (modelId) => prices.get(modelId) };
}

function chainsOf(t: ExecutionContext, providers: ProviderSettings[], costs: Costs = {}) {
  const log = createLogger('agent', { LOG_LEVEL: 'silent' });
  const metrics = createMetrics('agent');
  const models = createModels(
    { providers, callsAtOnce: 9, fallbacks: [], prices: pricesOf(costs), offlineWordPaceMs: 0 },
    log,
  );
  const chains = modelChains(models, log, metrics);
  t.teardown(() => chains.close());
  return { chains, metrics };
}

test('metrics have one label for each configured model and one for all others', async (t) => {
  const server = await startModelServer({
    script: ({ model }) => (model.startsWith('limited') ? { status: 429, headers: { 'retry-after': '60' } } : {}),
  });
  t.teardown(() => server.stop());
  const { chains, metrics } = chainsOf(t, [{ ...cloud, url: server.url, retries: 0 }]);
  const { signal } = new AbortController();
  const call = {
    tenantId: 1,
    signal,
    acquireSlot: (asked: ReturnType<typeof chains.chain>['first']) => asked.acquireSlot(1, signal),
  };
  const usage = { tokensIn: 1, tokensCached: 0, tokensOut: 1, estimated: false };
  for (const model of ['own', 'named-1', 'named-2', 'limited-1', 'limited-2']) {
    const chain = chains.chain({ provider: 'CLOUD_HOSTED_MODELS', model });
    try {
      for await (const event of chain.stream(ask('Hi'), call)) {
        if (event.type === 'finish') chains.metrics.spent(event.model, 'session', 1n);
      }
    } catch {
      t.regex(model, /^limited/u);
    }
    chains.metrics.fellBack(chain.first, { providerId: 'CLOUD_HOSTED_MODELS', modelId: 'own' });
    chains.metrics.used(chain.first, usage);
  }
  const text = await metrics.registry.metrics();
  t.notRegex(text, /named|limited/u);
  const labelled = (name: string, label: string) =>
    [
      ...new Set(
        text
          .split('\n')
          .flatMap((line) => (line.startsWith(name) ? (line.match(`${label}="([^"]*)"`)?.[1] ?? []) : [])),
      ),
    ].sort();
  for (const name of [
    'gen_ai_client_operation_duration_seconds',
    'gen_ai_client_operation_time_to_first_chunk_seconds',
    'gen_ai_client_token_usage',
    'parley_agent_spend_usd_total',
  ]) {
    t.deepEqual(labelled(name, 'gen_ai_request_model'), ['other', 'own'], name);
  }
  t.deepEqual(labelled('parley_agent_model_kept_out', 'gen_ai_request_model'), ['other']);
  t.deepEqual(labelled('parley_agent_model_fallbacks_total', 'from'), [
    'CLOUD_HOSTED_MODELS other',
    'CLOUD_HOSTED_MODELS own',
  ]);
});

test('a tenant may name a model with a price above 0, and the model that the operator configured', (t) => {
  const { chains } = chainsOf(t, [cloud], { free: [0, 0], own: [0, 0], priced: [1e-6, 2e-6], half: [0, 2e-6] });
  const isUnpriced = (model: string) => chains.isUnpriced({ provider: 'CLOUD_HOSTED_MODELS', model });
  t.deepEqual(
    ['free', 'unknown', 'own', 'priced', 'half'].filter((model) => isUnpriced(model)),
    ['free', 'unknown'],
  );
});
