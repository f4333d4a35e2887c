import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { positiveInt } from '@parley/kernel/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings';
import { outboundSettings, portSettings } from '@parley/kernel/shared-settings';
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
  outbound: outboundSettings,
  ...portSettings('knowledge', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type KnowledgeConfig = ValuesOf<typeof knowledgeSettings>;
