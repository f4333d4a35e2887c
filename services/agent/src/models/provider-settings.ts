import { list, oneOf, positiveInt } from '@parley/kernel/settings/setting-types';
import { optionalGroup, setting } from '@parley/kernel/settings/settings';
import { fetchedUrl } from '@parley/kernel/settings/shared-settings';
import { z } from 'zod';

export type ProviderApi = 'openai' | 'anthropic' | 'google' | 'bedrock';

export type ProviderId = 'HOSTED_SMALL_MODEL' | 'CLOUD_HOSTED_MODELS' | 'DIRECT_MODEL_API';

/** Ids of the providers in order of precedence: the first configured provider is the default. */
export const providerIds: readonly ProviderId[] = ['HOSTED_SMALL_MODEL', 'CLOUD_HOSTED_MODELS', 'DIRECT_MODEL_API'];

const count = z.coerce
  .number('is not a number')
  .int('is not a whole number')
  .min(0, 'is below 0')
  .max(10, 'must be at most 10')
  .meta({ title: 'number' });

const timeouts = (id: ProviderId) => ({
  connectTimeoutMs: setting(
    `${id}_CONNECT_TIMEOUT_MS`,
    positiveInt.default(5_000),
    'How long a connection may take, TLS included.',
  ),
  firstTokenTimeoutMs: setting(
    `${id}_FIRST_TOKEN_TIMEOUT_MS`,
    positiveInt.default(15_000),
    'How long the first token of a stream may take.',
  ),
  idleTimeoutMs: setting(`${id}_IDLE_TIMEOUT_MS`, positiveInt.default(30_000), 'How long each further token may take.'),
  callTimeoutMs: setting(`${id}_CALL_TIMEOUT_MS`, positiveInt.default(300_000), 'How long a whole call may take.'),
});

const limits = (id: ProviderId) => ({
  contextTokens: setting(
    `${id}_CONTEXT_TOKENS`,
    positiveInt.optional(),
    'The most tokens of a request to that model and its answer together, as the endpoint serves it. One that cuts silently (Ollama) needs the right figure.',
    { without: "the price table's, else `16384`" },
  ),
  maxOutputTokens: setting(
    `${id}_MAX_OUTPUT_TOKENS`,
    positiveInt.default(4_096),
    'The most tokens of an answer; less where the price table says that the model has less.',
  ),
  retries: setting(
    `${id}_RETRIES`,
    count.default(1),
    'How often the provider is asked again before the next one, when a failure may pass.',
  ),
});

export const hostedSmallModel = optionalGroup('HOSTED_SMALL_MODEL_URL', {
  api: setting(
    'HOSTED_SMALL_MODEL_API',
    z.literal('openai', 'can only be openai').default('openai'),
    'The wire format, the only one there is.',
  ),
  url: setting(
    'HOSTED_SMALL_MODEL_URL',
    fetchedUrl,
    'Base URL of an OpenAI-compatible endpoint, `/v1` included, e.g. `http://localhost:11434/v1`.',
    { without: 'it is not configured' },
  ),
  key: setting('HOSTED_SMALL_MODEL_KEY', z.string().optional(), 'Sent as bearer token.', { secret: true }),
  modelId: setting('HOSTED_SMALL_MODEL_MODEL', z.string(), "The model's name there."),
  ...limits('HOSTED_SMALL_MODEL'),
  ...timeouts('HOSTED_SMALL_MODEL'),
});

const url = (id: ProviderId) =>
  setting(`${id}_URL`, fetchedUrl.optional(), 'Base URL of the endpoint, its version (`/v1`) included.', {
    without: "the vendor's own",
  });
const modelId = (id: ProviderId, meaning: string) =>
  setting(`${id}_MODEL`, z.string(), meaning, { without: 'it is not configured' });

export const cloudHostedModels = optionalGroup('CLOUD_HOSTED_MODELS_MODEL', {
  api: setting(
    'CLOUD_HOSTED_MODELS_API',
    oneOf(['bedrock', 'openai', 'anthropic', 'google']).default('bedrock'),
    'The wire format; `bedrock` is Amazon Bedrock’s Converse.',
  ),
  url: url('CLOUD_HOSTED_MODELS'),
  region: setting('CLOUD_HOSTED_MODELS_REGION', z.string().default('us-east-1'), 'The region of `bedrock`.'),
  key: setting(
    'CLOUD_HOSTED_MODELS_KEY',
    z.string().optional(),
    'The API key. For `bedrock` a Bedrock API key, or `<access key id>:<secret access key>[:<session token>]`, which sign each request (SigV4).',
    { secret: true, required: "with the vendor's own URL, and with bedrock" },
  ),
  modelId: modelId('CLOUD_HOSTED_MODELS', 'The model that answers unless another one is named.'),
  visionModels: setting(
    'CLOUD_HOSTED_MODELS_VISION_MODELS',
    list.optional(),
    'The models that images are sent to, separated by commas.',
    { without: 'those with `supports_vision` in the price table' },
  ),
  ...limits('CLOUD_HOSTED_MODELS'),
  ...timeouts('CLOUD_HOSTED_MODELS'),
});

export const directModelApi = optionalGroup('DIRECT_MODEL_API_MODEL', {
  api: setting(
    'DIRECT_MODEL_API_API',
    oneOf(['openai', 'anthropic', 'google']).default('openai'),
    'The wire format of the vendor.',
  ),
  url: url('DIRECT_MODEL_API'),
  key: setting('DIRECT_MODEL_API_KEY', z.string().optional(), 'The API key.', {
    secret: true,
    required: "with the vendor's own URL",
  }),
  modelId: modelId('DIRECT_MODEL_API', 'The model that answers unless another one is named.'),
  ...limits('DIRECT_MODEL_API'),
  ...timeouts('DIRECT_MODEL_API'),
});
