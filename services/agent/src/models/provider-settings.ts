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
    'Maximum time to open a connection to the provider, including TLS.',
  ),
  firstTokenTimeoutMs: setting(
    `${id}_FIRST_TOKEN_TIMEOUT_MS`,
    positiveInt.default(15_000),
    'Maximum time from the start of a call to the first token of the answer.',
  ),
  idleTimeoutMs: setting(
    `${id}_IDLE_TIMEOUT_MS`,
    positiveInt.default(30_000),
    'Maximum time to wait for each further token of an answer.',
  ),
  callTimeoutMs: setting(
    `${id}_CALL_TIMEOUT_MS`,
    positiveInt.default(300_000),
    'Maximum time of a whole call to the provider.',
  ),
});

const limits = (id: ProviderId) => ({
  contextTokens: setting(
    `${id}_CONTEXT_TOKENS`,
    positiveInt.optional(),
    'Maximum number of tokens of a request and its answer together, as the endpoint serves the configured model. Set this for an endpoint that truncates long requests without an error, such as Ollama.',
    { without: 'the limit in the price table, else `16384`' },
  ),
  maxOutputTokens: setting(
    `${id}_MAX_OUTPUT_TOKENS`,
    positiveInt.default(4_096),
    'Maximum number of tokens of one answer. If the price table has a lower limit for the model, that limit applies.',
  ),
  retries: setting(
    `${id}_RETRIES`,
    count.default(1),
    'Maximum number of retries of a call at this provider after a temporary failure, before the next provider is asked. A call that timed out is not retried at this provider.',
  ),
});

export const hostedSmallModel = optionalGroup('HOSTED_SMALL_MODEL_URL', {
  api: setting(
    'HOSTED_SMALL_MODEL_API',
    z.literal('openai', 'can only be openai').default('openai'),
    'Wire format of the endpoint at `HOSTED_SMALL_MODEL_URL`. Only `openai` is supported.',
  ),
  url: setting(
    'HOSTED_SMALL_MODEL_URL',
    fetchedUrl,
    'Base URL of the OpenAI-compatible endpoint of the provider `HOSTED_SMALL_MODEL`, `/v1` included, e.g. `http://localhost:11434/v1`.',
    { without: 'the provider is not configured' },
  ),
  key: setting(
    'HOSTED_SMALL_MODEL_KEY',
    z.string().optional(),
    'API key of the endpoint at `HOSTED_SMALL_MODEL_URL`, sent as bearer token.',
    { secret: true },
  ),
  modelId: setting(
    'HOSTED_SMALL_MODEL_MODEL',
    z.string(),
    'Name of the model at the endpoint of `HOSTED_SMALL_MODEL_URL`.',
  ),
  ...limits('HOSTED_SMALL_MODEL'),
  ...timeouts('HOSTED_SMALL_MODEL'),
});

const url = (id: ProviderId) =>
  setting(
    `${id}_URL`,
    fetchedUrl.optional(),
    "Base URL of the provider's API, including the version in its path (`/v1`), if it has one.",
    {
      without: "the vendor's own URL",
    },
  );
const modelId = (id: ProviderId, meaning: string) =>
  setting(`${id}_MODEL`, z.string(), meaning, { without: 'the provider is not configured' });

export const cloudHostedModels = optionalGroup('CLOUD_HOSTED_MODELS_MODEL', {
  api: setting(
    'CLOUD_HOSTED_MODELS_API',
    oneOf(['bedrock', 'openai', 'anthropic', 'google']).default('bedrock'),
    "Wire format of the provider's API; `bedrock` is the Converse API of Amazon Bedrock.",
  ),
  url: url('CLOUD_HOSTED_MODELS'),
  region: setting(
    'CLOUD_HOSTED_MODELS_REGION',
    z.string().default('us-east-1'),
    'AWS region of Amazon Bedrock; read if `CLOUD_HOSTED_MODELS_API` is `bedrock`.',
  ),
  key: setting(
    'CLOUD_HOSTED_MODELS_KEY',
    z.string().optional(),
    'API key of the provider. For `bedrock`: a Bedrock API key, or AWS credentials as `<access key id>:<secret access key>[:<session token>]`, which sign each request (SigV4).',
    { secret: true, required: "with the vendor's own URL, and with bedrock" },
  ),
  modelId: modelId('CLOUD_HOSTED_MODELS', "The provider's default model, which answers unless another model is named."),
  visionModels: setting(
    'CLOUD_HOSTED_MODELS_VISION_MODELS',
    list.optional(),
    'Models of `CLOUD_HOSTED_MODELS` that images are sent to, separated by commas.',
    { without: 'the models with `supports_vision` in the price table' },
  ),
  ...limits('CLOUD_HOSTED_MODELS'),
  ...timeouts('CLOUD_HOSTED_MODELS'),
});

export const directModelApi = optionalGroup('DIRECT_MODEL_API_MODEL', {
  api: setting(
    'DIRECT_MODEL_API_API',
    oneOf(['openai', 'anthropic', 'google']).default('openai'),
    "Wire format of the provider's API.",
  ),
  url: url('DIRECT_MODEL_API'),
  key: setting('DIRECT_MODEL_API_KEY', z.string().optional(), 'API key of the provider.', {
    secret: true,
    required: "with the vendor's own URL",
  }),
  modelId: modelId('DIRECT_MODEL_API', "The provider's default model, which answers unless another model is named."),
  ...limits('DIRECT_MODEL_API'),
  ...timeouts('DIRECT_MODEL_API'),
});
