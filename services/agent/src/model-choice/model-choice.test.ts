import test from 'ava';
import type { ModelChoice } from '../models/model-chains.ts';
import type { ModelDescription } from '../models/models.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import { modelChooser } from './model-choice.ts';
import type { TenantOverrides } from './tenant-overrides.ts';

const caller = { kind: 'service', service: 'session', tenantId: 1, requestId: 'r' } as const;
const noOverride = { llmProviderOverride: null, llmModelOverride: null };

/** Creates a chooser over these providers; the first is the default. The chosen model has the id that the override names. */
function chooserOver(providerIds: string[], override: { provider: string; model: string } | Error) {
  const lookups: number[] = [];
  const overrides: TenantOverrides = async ({ tenantId }) => {
    lookups.push(tenantId);
    if (override instanceof Error) throw override;
    return override;
  };
  const models = {
    chain: ({ provider, model }: ModelChoice = {}) =>
      ({ first: { providerId: provider ?? providerIds[0], modelId: model ?? 'its own' } }) as ProviderChain,
    isUnpriced: ({ model }: ModelChoice) => model === 'unpriced',
    describe: (): ModelDescription[] =>
      providerIds.map((providerId) => ({ providerId, modelId: 'its own', offline: false, text: '' })),
  };
  const choose = modelChooser(models, overrides);
  return {
    lookups,
    chosen: async (agent: Parameters<typeof choose>[0]) => {
      const { providerId, modelId } = (await choose(agent, caller)).first;
      return [providerId, modelId];
    },
  };
}

const all = ['DIRECT_MODEL_API', 'CLOUD_HOSTED_MODELS', 'HOSTED_SMALL_MODEL'];

test('with one fixed model the tenant override is not looked up', async (t) => {
  const { chosen, lookups } = chooserOver(['HOSTED_SMALL_MODEL'], new Error('identity is unavailable'));
  t.deepEqual(await chosen(noOverride), ['HOSTED_SMALL_MODEL', 'its own']);
  t.deepEqual(await chosen({ llmProviderOverride: 'DIRECT_MODEL_API', llmModelOverride: 'm' }), [
    'HOSTED_SMALL_MODEL',
    'its own',
  ]);
  t.deepEqual(lookups, []);
});

test("the agent's override comes first, without a lookup", async (t) => {
  const { chosen, lookups } = chooserOver(all, { provider: 'HOSTED_SMALL_MODEL', model: 't' });
  t.deepEqual(await chosen({ llmProviderOverride: 'CLOUD_HOSTED_MODELS', llmModelOverride: 'a' }), [
    'CLOUD_HOSTED_MODELS',
    'a',
  ]);
  t.deepEqual(lookups, []);
});

test("the agent's override precedes the tenant's, and provider and model come from the same one", async (t) => {
  const { chosen, lookups } = chooserOver(all, { provider: 'CLOUD_HOSTED_MODELS', model: '' });
  t.deepEqual(await chosen({ llmProviderOverride: null, llmModelOverride: 'a' }), ['CLOUD_HOSTED_MODELS', 'its own']);
  t.deepEqual(lookups, [1]);
});

test('overrides of unconfigured providers are skipped', async (t) => {
  const two = ['DIRECT_MODEL_API', 'HOSTED_SMALL_MODEL'];
  const agent = { llmProviderOverride: 'CLOUD_HOSTED_MODELS', llmModelOverride: 'a' } as const;
  t.deepEqual(await chooserOver(two, { provider: 'HOSTED_SMALL_MODEL', model: '' }).chosen(agent), [
    'HOSTED_SMALL_MODEL',
    'its own',
  ]);
  t.deepEqual(await chooserOver(two, { provider: 'CLOUD_HOSTED_MODELS', model: 't' }).chosen(agent), [
    'DIRECT_MODEL_API',
    'its own',
  ]);
  t.deepEqual(await chooserOver(two, { provider: '', model: '' }).chosen(noOverride), ['DIRECT_MODEL_API', 'its own']);
});

test('only CLOUD_HOSTED_MODELS accepts a model override', async (t) => {
  const { chosen } = chooserOver(all, { provider: 'DIRECT_MODEL_API', model: 't' });
  t.deepEqual(await chosen({ llmProviderOverride: 'HOSTED_SMALL_MODEL', llmModelOverride: 'a' }), [
    'HOSTED_SMALL_MODEL',
    'its own',
  ]);
  t.deepEqual(await chosen(noOverride), ['DIRECT_MODEL_API', 'its own']);
});

test('an override whose model has lost its price is refused', async (t) => {
  const { chosen } = chooserOver(all, { provider: '', model: '' });
  const agent = { llmProviderOverride: 'CLOUD_HOSTED_MODELS', llmModelOverride: 'unpriced' } as const;
  t.like(await t.throwsAsync(chosen(agent)), { kind: 'unavailable', reason: 'MODEL_UNAVAILABLE' });
});
