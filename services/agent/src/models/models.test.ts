import { setImmediate } from 'node:timers/promises';
import { startModelServer } from '@parley/testing/model-server';
import test from 'ava';
import { createModels } from './models.ts';
import { ask, eventsOf, patiently, textOf } from './testing/model-on-server.ts';

const silent = { warn: () => {} };
const small = {
  url: 'http://127.0.0.1:9/v1',
  modelId: 'small',
  contextTokens: 8_192,
  maxOutputTokens: 10,
  firstTokenTimeoutMs: 1_000,
};

test('with nothing configured the offline model answers, and the banner says that it is no LLM', async (t) => {
  const models = createModels({ callsAtOnce: 9, offlineWordPaceMs: 0 }, silent);

  t.like(models.choose(), { providerId: 'OFFLINE', offline: true });
  t.like(models.choose({ providerOverride: 'DIRECT_MODEL_API', modelOverride: 'big' }), { providerId: 'OFFLINE' });
  t.like(models.describe(), [{ providerId: 'OFFLINE', modelId: 'offline-extractive', offline: true }]);
  t.regex(models.describe()[0]?.text ?? '', /no LLM/u);
  t.not(textOf(await eventsOf(models.choose().stream(ask('Hello'), patiently))), '');
});

test('a configured endpoint answers everything, with its one model', async (t) => {
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

test('the banner shows where the endpoint is, and no key', (t) => {
  const hostedSmallModel = { ...small, url: 'http://user:pass@models.internal:8000/v1', key: 'secret' };
  const text = JSON.stringify(
    createModels({ hostedSmallModel, callsAtOnce: 9, offlineWordPaceMs: 0 }, silent).describe(),
  );

  t.regex(text, /small at http:\/\/models\.internal:8000/u);
  t.notRegex(text, /secret|pass/u);
});

test('tenants are given places in turn, and who gives up waiting is told why', async (t) => {
  const models = createModels({ hostedSmallModel: small, callsAtOnce: 1, offlineWordPaceMs: 0 }, silent);
  t.teardown(() => models.close());
  const gone = new AbortController();
  const served: number[] = [];
  const call = async (tenantId: number, signal = new AbortController().signal) => {
    using _place = await models.choose().admit(tenantId, signal);
    served.push(tenantId);
    await setImmediate();
  };
  const calls = [call(1), call(1), call(1), call(2)];
  const leaving = call(3, gone.signal);
  t.is(models.waiting, 4);
  gone.abort(new Error('enough'));
  for (const late of [leaving, call(3, gone.signal)]) await t.throwsAsync(late, { message: 'enough' });
  await Promise.all(calls);
  t.deepEqual(served, [1, 1, 2, 1]);
  t.is(models.waiting, 0);
});

test('closing cuts what still runs and frees the connections', async (t) => {
  const server = await startModelServer({ script: { ending: 'never', text: 'One' } });
  t.teardown(() => server.stop());
  const models = createModels(
    { hostedSmallModel: { ...small, url: server.url }, callsAtOnce: 9, offlineWordPaceMs: 0 },
    silent,
  );
  const running = eventsOf(models.choose().stream(ask('Count'), patiently));
  await server.until(({ counts }) => counts.running === 1);
  await models.close();

  await t.throwsAsync(running, { name: 'ModelError' });
  await server.until(({ counts }) => counts.cancelled === 1);
});
