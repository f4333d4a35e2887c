import { positiveInt } from '@parley/kernel/settings/setting-types';
import { optionalGroup, setting } from '@parley/kernel/settings/settings';
import { fetchedUrl } from '@parley/kernel/settings/shared-settings';
import { pricesSetting } from '@parley/metering/prices-setting';
import { z } from 'zod';

export const embeddingSettings = {
  endpoint: optionalGroup('EMBEDDINGS_URL', {
    url: setting(
      'EMBEDDINGS_URL',
      fetchedUrl,
      'Base URL of an OpenAI-compatible embeddings endpoint, `/v1` included; it must answer with 768 dimensions where they are asked for.',
      { without: 'the built-in offline embedding' },
    ),
    key: setting('EMBEDDINGS_KEY', z.string().optional(), 'Sent to it as bearer token.', { secret: true }),
    model: setting(
      'EMBEDDINGS_MODEL',
      z.string().default('text-embedding-3-small'),
      'The model there. Bases of another one are embedded anew in the background, and searched with theirs until then.',
    ),
    maxTokens: setting(
      'EMBEDDINGS_MAX_TOKENS',
      positiveInt.min(64).optional(),
      'Tokens of one text that this model takes; passages have at most three quarters of them, since tokens are estimated. What it refuses all the same is cut.',
      { without: "that of the model's entry in the prices, else passages have about 800 tokens" },
    ),
    timeoutMs: setting(
      'KNOWLEDGE_EMBEDDINGS_TIMEOUT_MS',
      positiveInt.default(30_000),
      'How long one request to it may take.',
    ),
    callsAtOnce: setting(
      'KNOWLEDGE_EMBEDDINGS_CALLS_AT_ONCE',
      positiveInt.default(8),
      'Requests to it at once in one process, at most half of them of one tenant; more wait, fairly by tenant.',
    ),
  }),
  prices: pricesSetting,
};
