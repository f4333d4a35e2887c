import { createGate } from '@parley/testing/gate';
import { startModelServer } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { type AgentUnit, agentUnit, inTenant } from './agent-unit.ts';

const owner = inTenant(1);

/** Starts a unit with a provider, and with a fallback provider that must never receive a request. */
async function provider(t: ExecutionContext, env: Record<string, string> = {}) {
  const [server, fallback] = [await startModelServer(), await startModelServer()];
  t.teardown(() => Promise.all([server.stop(), fallback.stop()]));
  const unit = await agentUnit(t, {
    CLOUD_HOSTED_MODELS_API: 'openai',
    CLOUD_HOSTED_MODELS_URL: server.url,
    CLOUD_HOSTED_MODELS_KEY: 'canary-key',
    CLOUD_HOSTED_MODELS_MODEL: 'gpt-4o',
    HOSTED_SMALL_MODEL_URL: fallback.url,
    HOSTED_SMALL_MODEL_MODEL: 'small',
    LLM_FALLBACKS: 'HOSTED_SMALL_MODEL',
    ...env,
  });
  return { unit, server, fallback };
}

async function probe(unit: AgentUnit, input: Record<string, unknown> = {}) {
  const { data, errors } = await unit.graph(
    owner,
    `mutation ($input: TestLlmProviderInput!) {
      testLlmProvider(input: $input) { ok providerId modelId latencyMs error }
    }`,
    { input: { provider: 'CLOUD_HOSTED_MODELS', ...input } },
  );
  return { result: data?.['testLlmProvider'] as Record<string, unknown> | undefined, error: errors?.[0] };
}

const place = { providerId: 'CLOUD_HOSTED_MODELS', modelId: 'gpt-4o' };

test('a provider that answers is fine, and its call is metered', async (t) => {
  const { unit, server } = await provider(t);
  const { result } = await probe(unit);
  t.like(result, { ...place, ok: true, error: null });
  t.true(Number(result?.['latencyMs']) >= 0);
  t.true(Number(server.requests[0]?.body.max_tokens) <= 16);
  t.like(unit.ledger.settled, [{ served: true }]);
  t.is(unit.ledger.settled[0]?.call?.operation, 'test');
  t.like((await probe(unit, { modelId: 'gpt-4o-mini' })).result, { ok: true, modelId: 'gpt-4o-mini' });
});

for (const [what, answer, said] of [
  ['refuses the credentials', { status: 401 }, /refused the credentials/],
  ['does not have the model', { status: 404 }, /does not have this model/],
  ['limits requests', { status: 429 }, /is limiting requests/],
  ['fails', { status: 500 }, /failed to answer/],
  ['closes the connection', { ending: 'cut' }, /cannot be reached|failed/],
] as const) {
  test(`a provider that ${what} is said to, once, past fallbacks and breaker`, async (t) => {
    const { unit, server, fallback } = await provider(t);
    server.answerWith({ text: '', ...answer });
    for (let n = 1; n <= 7; n += 1) {
      const { result } = await probe(unit);
      t.like(result, { ...place, ok: false, latencyMs: null });
      t.regex(String(result?.['error']), said);
      t.notRegex(JSON.stringify(result), /canary|127\.0\.0\.1/);
      t.is(server.requests.length, n, 'no retry, and no breaker keeps it out');
    }
    t.is(fallback.connections, 0);
  });
}

test('a provider that is silent, away or not configured is said to be', async (t) => {
  const { unit, server } = await provider(t, { CLOUD_HOSTED_MODELS_FIRST_TOKEN_TIMEOUT_MS: '300' });
  server.answerWith({ beforeHeaders: createGate() });
  t.like((await probe(unit)).result, { ok: false, error: 'The model did not answer in time' });
  await server.stop();
  t.like((await probe(unit)).result, { ok: false, error: 'The model provider cannot be reached' });
  t.deepEqual((await probe(unit, { provider: 'DIRECT_MODEL_API' })).result, {
    ok: false,
    providerId: null,
    modelId: null,
    latencyMs: null,
    error: 'This provider is not configured',
  });
});

test('at the cap, and for a model without a price, nothing is asked', async (t) => {
  const { unit, server } = await provider(t);
  t.like((await probe(unit, { modelId: 'no-such-model' })).error?.extensions, {
    code: 'BAD_REQUEST',
    fields: [{ path: 'input.modelId' }],
  });
  unit.ledger.cap = 0n;
  t.like((await probe(unit)).error?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  t.is(server.connections, 0);
});
