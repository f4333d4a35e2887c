import { positiveInt } from '@parley/kernel/setting-types';
import { optionalGroup, setting, type ValuesOf } from '@parley/kernel/settings';
import { fetchedUrl, turnsAtOnceSetting } from '@parley/kernel/shared-settings';
import { z } from 'zod';

export const modelSettings = {
  callsAtOnce: turnsAtOnceSetting,
  hostedSmallModel: optionalGroup('HOSTED_SMALL_MODEL_URL', {
    url: setting(
      'HOSTED_SMALL_MODEL_URL',
      fetchedUrl,
      'Base URL of an OpenAI-compatible endpoint, `/v1` included, e.g. `http://localhost:11434/v1`.',
      { without: 'the offline model answers' },
    ),
    modelId: setting('HOSTED_SMALL_MODEL_MODEL', z.string(), "The model's name there."),
    key: setting('HOSTED_SMALL_MODEL_KEY', z.string().optional(), 'Sent as bearer token.', { secret: true }),
    api: setting(
      'HOSTED_SMALL_MODEL_API',
      z.literal('openai', 'can only be openai').default('openai'),
      'The wire format, the only one there is.',
    ),
    contextTokens: setting(
      'HOSTED_SMALL_MODEL_CONTEXT_TOKENS',
      positiveInt.default(16_384),
      'The most tokens of a request and its answer together, as the endpoint serves the model. An endpoint that cuts silently (Ollama) needs the right figure.',
    ),
    maxOutputTokens: setting(
      'HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS',
      positiveInt.default(4_096),
      'The most tokens of an answer.',
    ),
    firstTokenTimeoutMs: setting(
      'HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS',
      positiveInt.default(15_000),
      'How long the first token may take.',
    ),
  }),
};

type Read = ValuesOf<typeof modelSettings>;

export type ProviderSettings = Omit<NonNullable<Read['hostedSmallModel']>, 'api' | 'key'> & {
  key?: string | undefined;
};

export interface ModelSettings extends Pick<Read, 'callsAtOnce'> {
  hostedSmallModel?: ProviderSettings | undefined;
  /** Milliseconds between words of the offline model, so that people can read along; 0 in tests. */
  offlineWordPaceMs: number;
}
