import { readSettings, SettingsError } from '@parley/kernel/config';
import test from 'ava';
import { modelSettings } from './model-settings.ts';

const read = (env: Record<string, string>) => readSettings(env, modelSettings);

test('without a URL no provider is configured', (t) => {
  t.is(read({ HOSTED_SMALL_MODEL_URL: '' }).hostedSmallModel, undefined);
});

test('a provider needs only URL and model', (t) => {
  const env = { HOSTED_SMALL_MODEL_URL: 'http://localhost:11434/v1', HOSTED_SMALL_MODEL_MODEL: 'small' };

  t.deepEqual(read(env).hostedSmallModel, {
    url: 'http://localhost:11434/v1',
    modelId: 'small',
    key: undefined,
    api: 'openai',
    contextTokens: 16_384,
    maxOutputTokens: 4_096,
    firstTokenTimeoutMs: 15_000,
  });
  t.is(read({ ...env, HOSTED_SMALL_MODEL_KEY: 'key' }).hostedSmallModel?.key, 'key');
});

test('a URL without a model is an error that names the setting', (t) => {
  t.throws(() => read({ HOSTED_SMALL_MODEL_URL: 'http://localhost/v1' }), {
    instanceOf: SettingsError,
    message: /HOSTED_SMALL_MODEL_MODEL: is missing, and HOSTED_SMALL_MODEL_URL is set/u,
  });
});

test('a URL with a user or password is an error, because no request can be sent to it', (t) => {
  t.throws(() => read({ HOSTED_SMALL_MODEL_URL: 'http://me:hidden@localhost/v1', HOSTED_SMALL_MODEL_MODEL: 'small' }), {
    message: /HOSTED_SMALL_MODEL_URL: has a user or password$/u,
  });
});

test('an error names every invalid setting of a provider', (t) => {
  const env = {
    HOSTED_SMALL_MODEL_API: 'smoke-signals',
    HOSTED_SMALL_MODEL_URL: 'ftp://models',
    HOSTED_SMALL_MODEL_CONTEXT_TOKENS: '-1',
    HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS: '0',
    HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: 'soon',
  };
  const error = t.throws(() => read(env), { instanceOf: SettingsError });

  const named = error.problems.map((problem) => problem.split(':')[0] ?? '');
  t.deepEqual(named.toSorted(), [...Object.keys(env), 'HOSTED_SMALL_MODEL_MODEL'].toSorted());
});
