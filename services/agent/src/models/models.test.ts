import { setImmediate } from 'node:timers/promises';
import { shippedPrices } from '@parley/metering/prices';
import { startModelServer } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { type ModelSettings, type ProviderSettings } from './model-settings.ts';
import { createModels } from './models.ts';
import { ask, eventsOf, failureOf, textOf, uncancelled } from './testing/model-on-server.ts';
import { defaultProvider } from './testing/provider-settings.ts';

const silent = { warn: () => {} };
const small = { ...defaultProvider, modelId: 'small' };
const cloud: ProviderSettings = {
  ...defaultProvider,
  id: 'CLOUD_HOSTED_MODELS',
  api: 'anthropic',
  key: 'key',
  modelId: 'claude-haiku-4-5',
  visionModels: 'priced',
  contextTokens: undefined,
};

function modelsOf(t: ExecutionContext, providers: ProviderSettings[], settings: Partial<ModelSettings> = {}) {
  const defaults = { callsAtOnce: 9, fallbacks: [], prices: shippedPrices(), offlineWordPaceMs: 0 };
  const models = createModels({ ...defaults, providers, ...settings }, silent);
  t.teardown(() => models.close());
  return models;
}

test('without a provider the offline model answers, and its description says that it is not an LLM', async (t) => {
  const models = modelsOf(t, []);

  t.like(models.choose(), { providerId: 'OFFLINE', offline: true, vision: false });
  t.like(models.choose({ providerOverride: 'DIRECT_MODEL_API', modelOverride: 'big' }), { providerId: 'OFFLINE' });
  t.like(models.describe(), [{ providerId: 'OFFLINE', modelId: 'offline-extractive', offline: true }]);
  t.regex(models.describe()[0]?.text ?? '', /no LLM/u);
  t.not(textOf(await eventsOf(models.choose().stream(ask('Hello'), uncancelled))), '');
  t.is(models.find('OFFLINE'), models.first);
  t.is(models.find('HOSTED_SMALL_MODEL'), undefined);
});

test('a provider with one small model uses it for every choice', async (t) => {
  const models = modelsOf(t, [small]);

  const choices = [
    {},
    { providerOverride: null, modelOverride: null },
    { providerOverride: 'HOSTED_SMALL_MODEL', modelOverride: 'another' },
    { providerOverride: 'DIRECT_MODEL_API', modelOverride: 'big' },
    { providerOverride: 'OFFLINE' },
  ];
  for (const choice of choices)
    t.like(models.choose(choice), { providerId: 'HOSTED_SMALL_MODEL', modelId: 'small', offline: false });
  t.deepEqual(
    models.describe().map(({ providerId }) => providerId),
    ['HOSTED_SMALL_MODEL'],
  );
});

test('the first provider is the default, and the others are found by their ids', (t) => {
  const models = modelsOf(t, [cloud, small], { fallbacks: ['HOSTED_SMALL_MODEL'] });

  t.like(models.choose(), { providerId: 'CLOUD_HOSTED_MODELS', modelId: 'claude-haiku-4-5' });
  t.like(models.choose({ providerOverride: 'CLOUD_HOSTED_MODELS', modelOverride: 'other' }), { modelId: 'other' });
  t.is(models.first.id, 'CLOUD_HOSTED_MODELS');
  t.deepEqual(
    models.fallbacks.map(({ id, retries }) => [id, retries]),
    [['HOSTED_SMALL_MODEL', 1]],
  );
  t.is(models.find('HOSTED_SMALL_MODEL'), models.fallbacks[0]);
  t.is(models.find('CLOUD_HOSTED_MODELS')?.model('x').modelId, 'x');
  t.is(models.find('HOSTED_SMALL_MODEL')?.model('x').modelId, 'small');
});

test("a model's limits come from the price table, up to the limits in the settings", (t) => {
  const limitsOf = (settings: Partial<ProviderSettings>, modelId?: string) => {
    const { contextTokens, maxOutputTokens, vision } = modelsOf(t, [{ ...cloud, ...settings }]).first.model(modelId);
    return { contextTokens, maxOutputTokens, vision };
  };

  t.deepEqual(limitsOf({}), { contextTokens: 200_000, maxOutputTokens: 4_096, vision: true });
  t.deepEqual(limitsOf({}, 'unknown'), { contextTokens: 16_384, maxOutputTokens: 4_096, vision: false });
  t.deepEqual(limitsOf({ contextTokens: 9_000 }), { contextTokens: 9_000, maxOutputTokens: 4_096, vision: true });
  t.like(limitsOf({ contextTokens: 9_000 }, 'gpt-4o'), { contextTokens: 128_000 });
  t.like(limitsOf({ contextTokens: 9_000 }, 'unknown'), { contextTokens: 9_000 });
  t.like(limitsOf({ maxOutputTokens: 100_000 }), { maxOutputTokens: 64_000 });
  t.like(limitsOf({ visionModels: ['unknown'] }), { vision: false });
  t.like(limitsOf({ visionModels: ['unknown'] }, 'unknown'), { vision: true });
  t.like(limitsOf({ visionModels: 'never' }), { vision: false });
});

test('the models of a provider share its slots and its connections', async (t) => {
  const server = await startModelServer();
  t.teardown(() => server.stop());
  const { first } = modelsOf(t, [{ ...cloud, url: server.urls.anthropic }], { callsAtOnce: 1 });

  using held = await first.model('a').acquireSlot(1, uncancelled.signal);
  const waiting = first.model('b').acquireSlot(1, uncancelled.signal);
  t.is(first.waiting, 1);
  held[Symbol.dispose]();
  (await waiting)[Symbol.dispose]();
  for (const id of ['a', 'b', 'c', 'a']) {
    const [last] = (await eventsOf(first.model(id).stream(ask('Hi'), uncancelled))).slice(-1);
    t.is(last?.type, 'finish');
  }
  t.deepEqual(
    server.requests.map(({ body }) => body.model),
    ['a', 'b', 'c', 'a'],
  );
  t.is(server.connections, 1);
});

test('recently used models are cached, and others are evicted', (t) => {
  const { first } = modelsOf(t, [cloud]);
  const kept = first.model('kept');
  const dropped = first.model('dropped');
  for (let n = 0; n < 100; n += 1) {
    first.model(`m${n}`);
    t.is(first.model('kept'), kept);
  }

  t.not(first.model('dropped'), dropped);
});

test('an id that could change the path of a request is an unknown model, and nothing is sent', async (t) => {
  const server = await startModelServer();
  t.teardown(() => server.stop());
  const { first } = modelsOf(t, [{ ...cloud, api: 'google', url: server.urls.google }]);

  for (const id of ['../files', 'a/../../b', 'm?key=1', 'm#x', 'm m', 'ü', '', 'x'.repeat(300), 'm%2e', '/v1']) {
    const { error } = await failureOf(first.model(id).stream(ask('Hi'), uncancelled));
    t.like(error, { kind: 'unknownModel', retryable: false }, id);
  }
  t.is(server.connections, 0);
});

test('the description of a provider shows its origin, and neither key nor credentials', (t) => {
  const url = 'http://user:pass@models.internal:8000/v1';
  const text = JSON.stringify(modelsOf(t, [{ ...small, url, key: 'secret' }]).describe());

  t.regex(text, /small at http:\/\/models\.internal:8000/u);
  t.notRegex(text, /secret|pass/u);
});

test("tenants get slots round-robin, and an aborted wait rejects with the signal's reason", async (t) => {
  const models = modelsOf(t, [small], { callsAtOnce: 1 });
  const controller = new AbortController();
  const served: number[] = [];
  const call = async (tenantId: number, signal = new AbortController().signal) => {
    using _slot = await models.choose().acquireSlot(tenantId, signal);
    served.push(tenantId);
    await setImmediate();
  };
  const calls = [call(1), call(1), call(1), call(2)];
  const aborted = call(3, controller.signal);
  t.is(models.waiting, 4);
  controller.abort(new Error('enough'));
  for (const late of [aborted, call(3, controller.signal)]) await t.throwsAsync(late, { message: 'enough' });
  await Promise.all(calls);
  t.deepEqual(served, [1, 1, 2, 1]);
  t.is(models.waiting, 0);
});

test('close aborts running calls and closes the connections', async (t) => {
  const server = await startModelServer({ script: { ending: 'never', text: 'One' } });
  t.teardown(() => server.stop());
  const models = modelsOf(t, [{ ...small, url: server.url }]);
  const running = eventsOf(models.choose().stream(ask('Count'), uncancelled));
  await server.until(({ counts }) => counts.running === 1);
  await models.close();

  await t.throwsAsync(running, { name: 'ModelError' });
  await server.until(({ counts }) => counts.cancelled === 1);
});

test('direct calls get half of the slots, and those of one tenant a quarter, so that turns can still begin', async (t) => {
  const models = modelsOf(t, [small], { callsAtOnce: 8 });
  const { signal } = new AbortController();
  const model = models.choose();
  const isHeld = async (tenantId: number, isDirect: boolean) => {
    const taken = model.acquireSlot(tenantId, signal, { isDirect }).then(() => true);
    return Promise.race([taken, setImmediate(false)]);
  };
  t.deepEqual([await isHeld(1, true), await isHeld(1, true), await isHeld(1, true)], [true, true, false]);
  t.deepEqual([await isHeld(2, true), await isHeld(2, true), await isHeld(3, true)], [true, true, false]);
  t.deepEqual([await isHeld(1, false), await isHeld(3, false)], [true, true]);
});
