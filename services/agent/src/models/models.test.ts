import { setImmediate } from 'node:timers/promises';
import { startModelServer } from '@parley/testing/model-server';
import test from 'ava';
import { createModels } from './models.ts';
import { ask, eventsOf, textOf, uncancelled } from './testing/model-on-server.ts';

const silent = { warn: () => {} };
const small = {
  url: 'http://127.0.0.1:9/v1',
  modelId: 'small',
  contextTokens: 8_192,
  maxOutputTokens: 10,
  firstTokenTimeoutMs: 1_000,
};

test('without a provider the offline model answers, and its description says that it is no LLM', async (t) => {
  const models = createModels({ callsAtOnce: 9, offlineWordPaceMs: 0 }, silent);

  t.like(models.choose(), { providerId: 'OFFLINE', offline: true });
  t.like(models.choose({ providerOverride: 'DIRECT_MODEL_API', modelOverride: 'big' }), { providerId: 'OFFLINE' });
  t.like(models.describe(), [{ providerId: 'OFFLINE', modelId: 'offline-extractive', offline: true }]);
  t.regex(models.describe()[0]?.text ?? '', /no LLM/u);
  t.not(textOf(await eventsOf(models.choose().stream(ask('Hello'), uncancelled))), '');
});

test('a configured provider answers all choices with its one model', async (t) => {
  const models = createModels({ hostedSmallModel: small, callsAtOnce: 9, offlineWordPaceMs: 0 }, silent);
  t.teardown(() => models.close());

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

test('the description of a provider shows its origin, and neither key nor credentials', (t) => {
  const hostedSmallModel = { ...small, url: 'http://user:pass@models.internal:8000/v1', key: 'secret' };
  const text = JSON.stringify(
    createModels({ hostedSmallModel, callsAtOnce: 9, offlineWordPaceMs: 0 }, silent).describe(),
  );

  t.regex(text, /small at http:\/\/models\.internal:8000/u);
  t.notRegex(text, /secret|pass/u);
});

test('slots are given to tenants round-robin, and an aborted wait rejects with the reason', async (t) => {
  const models = createModels({ hostedSmallModel: small, callsAtOnce: 1, offlineWordPaceMs: 0 }, silent);
  t.teardown(() => models.close());
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
  const models = createModels(
    { hostedSmallModel: { ...small, url: server.url }, callsAtOnce: 9, offlineWordPaceMs: 0 },
    silent,
  );
  const running = eventsOf(models.choose().stream(ask('Count'), uncancelled));
  await server.until(({ counts }) => counts.running === 1);
  await models.close();

  await t.throwsAsync(running, { name: 'ModelError' });
  await server.until(({ counts }) => counts.cancelled === 1);
});
