import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { outboundSettings, portSettings } from '@parley/kernel/settings/shared-settings';
import { embeddingSettings } from './embeddings/embedding-settings.ts';

export const knowledgeSettings = {
  maxAnswerBytes: setting(
    'KNOWLEDGE_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Bytes of one answer of the subgraph (`ANSWER_TOO_LARGE`).',
  ),
  embeddings: embeddingSettings,
  exactLimit: setting(
    'KNOWLEDGE_EXACT_LIMIT',
    positiveInt.default(20_000),
    'Up to so many chunks of a base all are compared with a query; above, the nearest are found by the HNSW index.',
  ),
  openUploads: setting(
    'KNOWLEDGE_OPEN_UPLOADS',
    positiveInt.default(100),
    'Uploads of one tenant that may wait to be confirmed (`TOO_MANY_REQUESTS`); each is removed after 24 hours.',
  ),
  parseWaitMs: setting(
    'KNOWLEDGE_PARSE_WAIT_MS',
    positiveInt.default(900_000),
    'An uploaded document that is not parsed after so long is queued again, five times at waits that double, then FAILED.',
  ),
  indexConcurrency: setting(
    'KNOWLEDGE_INDEX_CONCURRENCY',
    positiveInt.default(2),
    'Parsed documents that this process chunks and embeds at once.',
  ),
  indexPerTenant: setting(
    'KNOWLEDGE_INDEX_PER_TENANT',
    positiveInt.default(1),
    'Parsed documents of one tenant chunked and embedded at once, over all replicas; its others wait.',
  ),
  outbound: outboundSettings,
  ...portSettings('knowledge', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type KnowledgeConfig = ValuesOf<typeof knowledgeSettings>;
