import { startModelServer } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { unitWithModel } from './agent-turns.ts';
import { type AgentUnit, agentUnit, createAgent, inTenant } from './agent-unit.ts';

const caller = { kind: 'apiKey', tenantId: 1, apiKeyId: 9, requestId: 'r' } as const;
const document = `query ($input: GenerateTextInput!) { generateText(input: $input) { text providerId modelId costUsd } }`;
const png = `data:image/png;base64,${Buffer.from('not looked at').toString('base64')}`;

function generate(unit: AgentUnit, input: Record<string, unknown>) {
  return unit.graph(caller, document, { input: { prompt: 'Say hello.', ...input } });
}

async function refusal(unit: AgentUnit, input: Record<string, unknown>) {
  const { errors } = await generate(unit, input);
  return errors?.[0];
}

/** Starts a unit with two providers, each on its own server. The first one is the default. */
async function twoProviders(t: ExecutionContext, env: Record<string, string> = {}) {
  const [cloud, direct] = [await startModelServer(), await startModelServer()];
  t.teardown(() => Promise.all([cloud.stop(), direct.stop()]));
  const unit = await agentUnit(t, {
    CLOUD_HOSTED_MODELS_API: 'openai',
    CLOUD_HOSTED_MODELS_URL: cloud.url,
    CLOUD_HOSTED_MODELS_KEY: 'canary-cloud-key',
    CLOUD_HOSTED_MODELS_MODEL: 'gpt-4o',
    CLOUD_HOSTED_MODELS_RETRIES: '0',
    DIRECT_MODEL_API_URL: direct.url,
    DIRECT_MODEL_API_KEY: 'canary-direct-key',
    DIRECT_MODEL_API_MODEL: 'gpt-4o-mini',
    LLM_FALLBACKS: 'DIRECT_MODEL_API',
    ...env,
  });
  return { unit, cloud, direct };
}

test('a completion returns its model and cost, and is settled once under its key', async (t) => {
  const { unit, cloud } = await twoProviders(t);
  cloud.answerWith({ text: 'Hello there.', usage: { prompt_tokens: 1_000, completion_tokens: 100 } });
  const { data, errors } = await generate(unit, {});
  t.is(errors, undefined);
  t.deepEqual(data?.['generateText'], {
    text: 'Hello there.',
    providerId: 'CLOUD_HOSTED_MODELS',
    modelId: 'gpt-4o',
    costUsd: 0.0035, // 1,000 tokens in × 2.5e-6 USD + 100 tokens out × 1e-5 USD
  });
  const { settled, open, reserved } = unit.ledger;
  t.is(settled.length, 1);
  t.like(settled[0], { estimated: false, served: true });
  // allow-name generateText: the operation's name in the ledger
  t.like(settled[0]?.call, {
    operation: 'generateText',
    apiKeyId: 9,
    modelId: 'gpt-4o',
    tokensIn: 1_000,
    costUsdE8: 350_000n,
  });
  t.is(open.size, 0);
  t.true((reserved[0]?.call?.costUsdE8 ?? 0n) > 4_000_000n, '4,096 tokens of output at 1e-5 USD');
});

test('the model is chosen by provider and modelId, as the rules of each have it', async (t) => {
  const { unit, cloud, direct } = await twoProviders(t, {
    LLM_DEFAULT_PROVIDER: 'DIRECT_MODEL_API',
    LLM_FALLBACKS: '',
  });
  const asked = async (input: Record<string, unknown>) => {
    const { data } = await generate(unit, input);
    const { providerId, modelId } = (data?.['generateText'] ?? {}) as { providerId?: string; modelId?: string };
    return [providerId, modelId];
  };
  t.deepEqual(await asked({}), ['DIRECT_MODEL_API', 'gpt-4o-mini']);
  t.deepEqual(await asked({ modelId: 'gpt-4o' }), ['DIRECT_MODEL_API', 'gpt-4o-mini'], 'ignored without a provider');
  t.deepEqual(await asked({ provider: 'DIRECT_MODEL_API', modelId: 'gpt-4o' }), ['DIRECT_MODEL_API', 'gpt-4o']);
  t.deepEqual(await asked({ provider: 'CLOUD_HOSTED_MODELS' }), ['CLOUD_HOSTED_MODELS', 'gpt-4o']);
  t.deepEqual(await asked({ provider: 'HOSTED_SMALL_MODEL', modelId: 'none' }), ['DIRECT_MODEL_API', 'gpt-4o-mini']);
  t.deepEqual([cloud.requests.length, direct.requests.length], [1, 4]);
});

test('a fallback answers with its own model, and the answer says so', async (t) => {
  const { unit, cloud, direct } = await twoProviders(t);
  cloud.answerWith({ status: 503 });
  direct.answerWith({ text: 'From elsewhere.', usage: { prompt_tokens: 10, completion_tokens: 2 } });
  const { data } = await generate(unit, { provider: 'CLOUD_HOSTED_MODELS', modelId: 'gpt-4.1' });
  t.like(data?.['generateText'], { text: 'From elsewhere.', providerId: 'DIRECT_MODEL_API', modelId: 'gpt-4o-mini' });
  t.deepEqual(
    unit.ledger.settled.map(({ call }) => call?.modelId),
    ['gpt-4o-mini'],
  );
});

test('HOSTED_SMALL_MODEL ignores a modelId, priced or not', async (t) => {
  const unit = await unitWithModel(t, { text: 'Fine.' });
  const { data } = await generate(unit, { provider: 'HOSTED_SMALL_MODEL', modelId: 'no such model' });
  t.like(data?.['generateText'], { text: 'Fine.', modelId: 'small-1', costUsd: 0 });
});

test('a model without a price is refused before any call', async (t) => {
  const { unit, cloud, direct } = await twoProviders(t);
  for (const provider of ['CLOUD_HOSTED_MODELS', 'DIRECT_MODEL_API']) {
    const error = await refusal(unit, { provider, modelId: 'no-such-model-9' });
    t.like(error?.extensions, { code: 'BAD_REQUEST', fields: [{ path: 'input.modelId' }] });
  }
  t.deepEqual([cloud.requests.length, direct.requests.length, unit.ledger.reserved.length], [0, 0, 0]);
});

test('images are sent to models with vision, and ignored by others', async (t) => {
  const { unit, cloud, direct } = await twoProviders(t);
  await generate(unit, { provider: 'CLOUD_HOSTED_MODELS', images: [png] });
  t.true(JSON.stringify(cloud.requests[0]?.body).includes(png.slice(-12)));
  await generate(unit, { provider: 'DIRECT_MODEL_API', images: [png] });
  t.false(JSON.stringify(direct.requests[0]?.body).includes('image'));
  cloud.answerWith({ status: 500 });
  await generate(unit, { provider: 'CLOUD_HOSTED_MODELS', images: [png] });
  t.is(direct.requests.length, 2, 'the fallback answers');
  t.false(JSON.stringify(direct.requests[1]?.body).includes('image'));
});

test('limits: what is no single image in base64 is refused everywhere, and nothing is fetched', async (t) => {
  const { unit, cloud, direct } = await twoProviders(t);
  const bad = [
    [png, png],
    [`${cloud.url}/image.png`],
    ['data:image/svg+xml;base64,PHN2Zy8+'],
    ['data:image/png;base64,not base64!'],
    ['data:image/png;base64,'],
    [''],
  ];
  for (const images of bad) {
    for (const provider of [undefined, 'CLOUD_HOSTED_MODELS', 'DIRECT_MODEL_API']) {
      t.is((await refusal(unit, { images, provider }))?.extensions['code'], 'BAD_REQUEST', String(images));
    }
  }
  t.deepEqual([cloud.connections, direct.connections], [0, 0]);
});

test('limits: a prompt has 1 to 4,000 characters, and is not blank', async (t) => {
  const unit = await agentUnit(t);
  t.is(await refusal(unit, { prompt: '🙂'.repeat(4_000) }), undefined);
  for (const prompt of ['🙂'.repeat(4_001), '', ' \n ']) {
    t.like((await refusal(unit, { prompt }))?.extensions, { code: 'BAD_REQUEST', fields: [{ path: 'input.prompt' }] });
  }
});

test('a model of embeddings is refused for text, at once and on save, and no provider is asked', async (t) => {
  const { unit, cloud } = await twoProviders(t);
  const provider = 'CLOUD_HOSTED_MODELS';
  const modelId = 'text-embedding-3-small';
  const message = 'names a model of embeddings, which writes no text';
  const refused = { code: 'BAD_REQUEST', fields: [{ path: 'input.modelId', message }] };
  t.like((await refusal(unit, { provider, modelId }))?.extensions, refused);
  const start = 'mutation ($input: GenerateTextInput!) { startTextGeneration(input: $input) { requestId } }';
  const started = await unit.graph(caller, start, { input: { prompt: 'Hi', provider, modelId } });
  t.like(started.errors?.[0]?.extensions, refused);
  const owner = inTenant(1);
  const override = { llmProviderOverride: provider, llmModelOverride: modelId };
  await t.throwsAsync(createAgent(unit, owner, override), { message: /of embeddings, which writes no text/ });
  t.is(cloud.connections, 0);
});

test("a fallback without its model counts as the operator's error", async (t) => {
  const { unit, cloud, direct } = await twoProviders(t);
  cloud.answerWith({ status: 503 });
  direct.answerWith({ status: 404 });
  const named = { provider: 'CLOUD_HOSTED_MODELS', modelId: 'gpt-4o-mini' };
  t.like((await refusal(unit, named))?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_UNAVAILABLE' });
  t.is(direct.counts.started, 1);
});

test('a model that the provider does not have counts as the error of the caller who named it', async (t) => {
  const { unit, cloud } = await twoProviders(t);
  cloud.answerWith({ status: 404 });
  const own = await refusal(unit, { provider: 'CLOUD_HOSTED_MODELS', modelId: 'gpt-4o-mini' });
  t.like(own?.extensions, { code: 'BAD_REQUEST', reason: 'MODEL_REQUEST_REFUSED' });
  cloud.answerWith({ status: 404 });
  const itsModel = { provider: 'CLOUD_HOSTED_MODELS' };
  t.like((await refusal(unit, itsModel))?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_UNAVAILABLE' });
  cloud.answerWith({ status: 404 });
  t.like((await refusal(unit, {}))?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_UNAVAILABLE' });
});

test('errors: at the spend cap generateText is BAD_REQUEST that names cap and spend, and no provider is asked', async (t) => {
  const { unit, cloud } = await twoProviders(t);
  unit.ledger.cap = 0n;
  const error = await refusal(unit, {});
  t.is(error?.message, 'Monthly LLM spend cap reached: $10.00 (spent $10.00)');
  t.like(error?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  t.is(cloud.connections, 0);
});

test('no model is asked while the ledger is unavailable', async (t) => {
  const { unit, cloud } = await twoProviders(t);
  unit.ledger.isDown = true;
  t.is((await refusal(unit, {}))?.extensions['code'], 'UNAVAILABLE');
  t.is(cloud.connections, 0);
});

test('a broken answer is settled at its estimate, and the error names no host', async (t) => {
  const { unit, cloud } = await twoProviders(t);
  cloud.answerWith({ text: 'One two three', ending: 'cut' });
  const error = await refusal(unit, {});
  t.like(error?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_FAILED' });
  t.notRegex(JSON.stringify(error), /127\.0\.0\.1|canary|node_modules/);
  t.like(unit.ledger.settled, [{ estimated: true, served: true }]);
  t.true((unit.ledger.settled[0]?.call?.tokensOut ?? 0) > 0);
  cloud.answerWith({ status: 401 });
  t.like((await refusal(unit, {}))?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_UNAVAILABLE' });
  t.like(unit.ledger.settled[1], { served: false });
  t.is(unit.ledger.settled[1]?.call?.costUsdE8, 0n);
});

test('a signed-in person may not call generateText', async (t) => {
  const unit = await agentUnit(t);
  const { errors } = await unit.graph(inTenant(1), document, { input: { prompt: 'Hi' } });
  t.is(errors?.[0]?.extensions['code'], 'UNAUTHENTICATED');
});
