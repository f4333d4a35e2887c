import { SettingsError } from '@parley/kernel/settings/config';
import test, { type ExecutionContext } from 'ava';
import { readModelSettings } from './model-settings.ts';

const small = { HOSTED_SMALL_MODEL_URL: 'http://localhost:11434/v1', HOSTED_SMALL_MODEL_MODEL: 'small' };
const cloud = { CLOUD_HOSTED_MODELS_MODEL: 'amazon.nova-lite-v1:0', CLOUD_HOSTED_MODELS_KEY: 'AKIA:secret' };
const direct = { DIRECT_MODEL_API_MODEL: 'gpt-4o', DIRECT_MODEL_API_KEY: 'sk-1' };

const idsOf = (env: Record<string, string>) => readModelSettings(env).providers.map(({ id }) => id);

function problemsOf(t: ExecutionContext, env: Record<string, string>): string[] {
  return t.throws(() => readModelSettings(env), { instanceOf: SettingsError })?.problems ?? [];
}

test('without a URL or a model no provider is configured', (t) => {
  const settings = readModelSettings({ HOSTED_SMALL_MODEL_URL: '', HOSTED_SMALL_MODEL_MODEL: 'small' });

  t.deepEqual(settings.providers, []);
  t.deepEqual(settings.fallbacks, []);
  t.truthy(settings.prices.find('gpt-4o'));
});

test('a small model needs only URL and name', (t) => {
  t.deepEqual(readModelSettings(small).providers, [
    {
      id: 'HOSTED_SMALL_MODEL',
      api: 'openai-compatible',
      url: 'http://localhost:11434/v1',
      key: undefined,
      modelId: 'small',
      visionModels: 'never',
      contextTokens: undefined,
      maxOutputTokens: 4_096,
      retries: 1,
      connectTimeoutMs: 5_000,
      firstTokenTimeoutMs: 15_000,
      idleTimeoutMs: 30_000,
      callTimeoutMs: 300_000,
    },
  ]);
});

test('cloud-hosted models are those of Bedrock in a region, unless another format or URL is given', (t) => {
  const of = (env: Record<string, string>) => readModelSettings({ ...cloud, ...env }).providers[0];

  t.like(of({}), { api: 'bedrock', url: 'https://bedrock-runtime.us-east-1.amazonaws.com', visionModels: 'priced' });
  t.like(of({ CLOUD_HOSTED_MODELS_REGION: 'cn-north-1' }), {
    url: 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn',
    region: 'cn-north-1',
  });
  t.like(of({ CLOUD_HOSTED_MODELS_API: 'google' }), {
    api: 'google',
    url: 'https://generativelanguage.googleapis.com/v1beta',
  });
  t.deepEqual(of({ CLOUD_HOSTED_MODELS_VISION_MODELS: 'a, b' })?.visionModels, ['a', 'b']);
});

test("a direct API has its vendor's address, and needs no key at another one", (t) => {
  t.like(readModelSettings(direct).providers[0], { api: 'openai', url: 'https://api.openai.com/v1' });
  t.like(readModelSettings({ ...direct, DIRECT_MODEL_API_API: 'anthropic' }).providers[0], {
    url: 'https://api.anthropic.com/v1',
  });
  const local = { DIRECT_MODEL_API_MODEL: 'm', DIRECT_MODEL_API_URL: 'http://localhost:8000/v1' };
  t.like(readModelSettings(local).providers[0], { url: 'http://localhost:8000/v1', key: undefined });
});

test('the default provider is the first configured one, or the named one', (t) => {
  t.deepEqual(idsOf({ ...direct, ...cloud, ...small }), [
    'HOSTED_SMALL_MODEL',
    'CLOUD_HOSTED_MODELS',
    'DIRECT_MODEL_API',
  ]);
  t.deepEqual(idsOf({ ...direct, ...cloud, LLM_DEFAULT_PROVIDER: 'DIRECT_MODEL_API' }), [
    'DIRECT_MODEL_API',
    'CLOUD_HOSTED_MODELS',
  ]);
  const { fallbacks } = readModelSettings({
    ...direct,
    ...small,
    LLM_FALLBACKS: 'DIRECT_MODEL_API,HOSTED_SMALL_MODEL',
  });
  t.deepEqual(fallbacks, ['DIRECT_MODEL_API', 'HOSTED_SMALL_MODEL']);
});

test('a default or a fallback that is not configured is an error', (t) => {
  const env = {
    ...small,
    LLM_DEFAULT_PROVIDER: 'DIRECT_MODEL_API',
    LLM_FALLBACKS: 'HOSTED_SMALL_MODEL,CLOUD_HOSTED_MODELS',
  };
  t.deepEqual(problemsOf(t, env), [
    'LLM_DEFAULT_PROVIDER: DIRECT_MODEL_API is not configured (DIRECT_MODEL_API_MODEL is missing)',
    'LLM_FALLBACKS: CLOUD_HOSTED_MODELS is not configured (CLOUD_HOSTED_MODELS_MODEL is missing)',
  ]);
  t.regex(problemsOf(t, { ...small, LLM_FALLBACKS: 'toString' }).join(), /toString is none of/u);
});

test('a missing key or a malformed AWS key is an error that does not show the key', (t) => {
  t.deepEqual(problemsOf(t, { CLOUD_HOSTED_MODELS_MODEL: 'm', DIRECT_MODEL_API_MODEL: 'm' }), [
    'CLOUD_HOSTED_MODELS_KEY: is missing, and CLOUD_HOSTED_MODELS_API is bedrock',
    "DIRECT_MODEL_API_KEY: is missing, and DIRECT_MODEL_API_URL is the vendor's own",
  ]);
  for (const key of ['AKIA:', ':canary', 'AKIA:canary:', 'a:b:c:canary']) {
    const [problem = ''] = problemsOf(t, { ...cloud, CLOUD_HOSTED_MODELS_KEY: key });
    t.regex(problem, /^CLOUD_HOSTED_MODELS_KEY: is neither an API key nor/u);
    t.false(problem.includes('canary'));
  }
  for (const key of ['AKIA:secret:token', 'ABSKcanary']) {
    t.notThrows(() => readModelSettings({ ...cloud, CLOUD_HOSTED_MODELS_KEY: key }));
  }
});

test('a URL without a model is an error that names the setting', (t) => {
  t.deepEqual(problemsOf(t, { HOSTED_SMALL_MODEL_URL: 'http://localhost/v1' }), [
    'HOSTED_SMALL_MODEL_MODEL: is missing, and HOSTED_SMALL_MODEL_URL is set',
  ]);
});

test('a URL with a user or password is an error, because no request can be sent to it', (t) => {
  t.deepEqual(problemsOf(t, { ...small, HOSTED_SMALL_MODEL_URL: 'http://me:hidden@localhost/v1' }), [
    'HOSTED_SMALL_MODEL_URL: has a user or password',
  ]);
});

test('an error names every invalid setting of all providers, and the price file', (t) => {
  const env = {
    HOSTED_SMALL_MODEL_API: 'smoke-signals',
    HOSTED_SMALL_MODEL_URL: 'ftp://models',
    HOSTED_SMALL_MODEL_CONTEXT_TOKENS: '-1',
    HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS: '0',
    HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: 'soon',
    CLOUD_HOSTED_MODELS_API: 'telex',
    CLOUD_HOSTED_MODELS_RETRIES: '11',
    CLOUD_HOSTED_MODELS_IDLE_TIMEOUT_MS: '0',
    DIRECT_MODEL_API_API: 'bedrock',
    DIRECT_MODEL_API_CALL_TIMEOUT_MS: '1.5',
    DIRECT_MODEL_API_CONNECT_TIMEOUT_MS: '-5',
    LLM_DEFAULT_PROVIDER: 'CLOUD_HOSTED_MODELS',
    LLM_FALLBACKS: 'NOBODY',
    LLM_PRICES_FILE: '/nowhere/prices.json',
  };
  const named = problemsOf(t, env).map((problem) => problem.split(':')[0] ?? '');

  t.deepEqual(named.toSorted(), [...Object.keys(env), 'HOSTED_SMALL_MODEL_MODEL'].toSorted());
});
