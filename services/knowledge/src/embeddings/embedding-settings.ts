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
      'Base URL of an OpenAI-compatible embeddings endpoint, `/v1` included. The endpoint must return vectors with 768 dimensions on request.',
      { without: 'the built-in offline embedding' },
    ),
    key: setting(
      'EMBEDDINGS_KEY',
      z.string().optional(),
      'API key of the endpoint at `EMBEDDINGS_URL`, sent as bearer token.',
      { secret: true },
    ),
    model: setting(
      'EMBEDDINGS_MODEL',
      z.string().default('text-embedding-3-small'),
      'Embedding model of the endpoint at `EMBEDDINGS_URL`. Knowledge bases with another model are embedded again in the background; until then, they are searched with their old model.',
    ),
    maxTokens: setting(
      'EMBEDDINGS_MAX_TOKENS',
      positiveInt.min(64).optional(),
      'Maximum number of tokens of one text for `EMBEDDINGS_MODEL`. Passages have at most three quarters of this number, because tokens are estimated. A passage that the model still refuses is cut.',
      { without: "the model's limit in the price table; without one, passages have about 800 tokens" },
    ),
    timeoutMs: setting(
      'KNOWLEDGE_EMBEDDINGS_TIMEOUT_MS',
      positiveInt.default(30_000),
      'Maximum time of one request to the endpoint at `EMBEDDINGS_URL`.',
    ),
    callsAtOnce: setting(
      'KNOWLEDGE_EMBEDDINGS_CALLS_AT_ONCE',
      positiveInt.default(8),
      'Maximum number of concurrent requests of one process to the endpoint at `EMBEDDINGS_URL`. One tenant may have half of them. Further requests wait in a queue that is fair by tenant.',
    ),
  }),
  prices: pricesSetting,
};
