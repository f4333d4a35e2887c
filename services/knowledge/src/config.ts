import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { outboundSettings, portSettings } from '@parley/kernel/settings/shared-settings';
import { embeddingSettings } from './embeddings/embedding-settings.ts';

export const knowledgeSettings = {
  maxAnswerBytes: setting(
    'KNOWLEDGE_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Maximum size of one answer of the subgraph; a larger answer fails with `BAD_REQUEST` (`ANSWER_TOO_LARGE`).',
  ),
  embeddings: embeddingSettings,
  exactLimit: setting(
    'KNOWLEDGE_EXACT_LIMIT',
    positiveInt.default(20_000),
    'Number of chunks up to which a query is compared with all chunks of a knowledge base. In a larger knowledge base, the nearest chunks are found by the HNSW index.',
  ),
  openUploads: setting(
    'KNOWLEDGE_OPEN_UPLOADS',
    positiveInt.default(100),
    'Maximum number of unconfirmed uploads of one tenant. A further upload is refused with `TOO_MANY_REQUESTS`. An unconfirmed upload is removed after 24 hours, or after 30 minutes if no valid file has arrived. Within 30 minutes a tenant may request four times this number of uploads.',
  ),
  parseWaitMs: setting(
    'KNOWLEDGE_PARSE_WAIT_MS',
    positiveInt.default(900_000),
    'Time after which an uploaded document that is not parsed yet is queued again. Each further wait is twice as long. After five repetitions, the document becomes FAILED.',
  ),
  indexConcurrency: setting(
    'KNOWLEDGE_INDEX_CONCURRENCY',
    positiveInt.default(2),
    'Maximum number of parsed documents that one process chunks and embeds at once.',
  ),
  indexPerTenant: setting(
    'KNOWLEDGE_INDEX_PER_TENANT',
    positiveInt.default(1),
    'Maximum number of parsed documents of one tenant that are chunked and embedded at once, over all replicas. Further documents of the tenant wait.',
  ),
  outbound: outboundSettings,
  ...portSettings('knowledge', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type KnowledgeConfig = ValuesOf<typeof knowledgeSettings>;
