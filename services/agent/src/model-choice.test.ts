import test from 'ava';
import { modelChooser } from './model-choice.ts';
import type { ChosenModel, ModelChoice, ModelDescription } from './models/models.ts';
import type { TenantOverrides } from './tenant-overrides.ts';

const caller = { kind: 'service', service: 'session', tenantId: 1, requestId: 'r' } as const;
const noWish = { llmProviderOverride: null, llmModelOverride: null };

/** Models of these providers, the first by default; a choice of a model shows as its id. */
function chooserOver(providerIds: string[], wish: { provider: string; model: string } | Error) {
  const asked: number[] = [];
  const overrides: TenantOverrides = async ({ tenantId }) => {
    asked.push(tenantId);
    if (wish instanceof Error) throw wish;
    return wish;
  };
  const never = () => {
    throw new Error('Nothing is asked of it here');
  };
  const models = {
    choose: ({ providerOverride, modelOverride }: ModelChoice = {}): ChosenModel => ({
      providerId: providerOverride ?? providerIds[0] ?? '',
      modelId: modelOverride ?? 'its own',
      offline: false,
      contextTokens: 8_192,
      maxOutputTokens: 1_024,
      stream: never,
      generate: never,
      admit: never,
    }),
    describe: (): ModelDescription[] =>
      providerIds.map((providerId) => ({ providerId, modelId: 'its own', offline: false, text: '' })),
  };
  const choose = modelChooser(models, overrides);
  return {
    asked,
    chosen: async (agent: Parameters<typeof choose>[0]) => {
      const { providerId, modelId } = await choose(agent, caller);
      return [providerId, modelId];
    },
  };
}

const all = ['DIRECT_MODEL_API', 'CLOUD_HOSTED_MODELS', 'HOSTED_SMALL_MODEL'];

test('where one fixed model answers, nobody is asked what the tenant wants', async (t) => {
  const { chosen, asked } = chooserOver(['HOSTED_SMALL_MODEL'], new Error('identity is away'));
  t.deepEqual(await chosen(noWish), ['HOSTED_SMALL_MODEL', 'its own']);
  t.deepEqual(await chosen({ llmProviderOverride: 'DIRECT_MODEL_API', llmModelOverride: 'm' }), [
    'HOSTED_SMALL_MODEL',
    'its own',
  ]);
  t.deepEqual(asked, []);
});

test("the agent's wish comes first, with its own model and no question", async (t) => {
  const { chosen, asked } = chooserOver(all, { provider: 'HOSTED_SMALL_MODEL', model: 't' });
  t.deepEqual(await chosen({ llmProviderOverride: 'CLOUD_HOSTED_MODELS', llmModelOverride: 'a' }), [
    'CLOUD_HOSTED_MODELS',
    'a',
  ]);
  t.deepEqual(asked, []);
});

test("the tenant's wish comes second, and a pair is never mixed", async (t) => {
  const { chosen, asked } = chooserOver(all, { provider: 'CLOUD_HOSTED_MODELS', model: '' });
  t.deepEqual(await chosen({ llmProviderOverride: null, llmModelOverride: 'a' }), ['CLOUD_HOSTED_MODELS', 'its own']);
  t.deepEqual(asked, [1]);
});

test('a wish that is not configured is passed over', async (t) => {
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
  t.deepEqual(await chooserOver(two, { provider: '', model: '' }).chosen(noWish), ['DIRECT_MODEL_API', 'its own']);
});

test('only hosted models in the cloud are chosen by name', async (t) => {
  const { chosen } = chooserOver(all, { provider: 'DIRECT_MODEL_API', model: 't' });
  t.deepEqual(await chosen({ llmProviderOverride: 'HOSTED_SMALL_MODEL', llmModelOverride: 'a' }), [
    'HOSTED_SMALL_MODEL',
    'its own',
  ]);
  t.deepEqual(await chosen(noWish), ['DIRECT_MODEL_API', 'its own']);
});
