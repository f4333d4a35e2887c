import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { positiveInt } from '@parley/kernel/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings';
import { portSettings } from '@parley/kernel/shared-settings';

export const knowledgeSettings = {
  maxAnswerBytes: setting(
    'KNOWLEDGE_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Bytes of one answer of the subgraph (`ANSWER_TOO_LARGE`).',
  ),
  ...portSettings('knowledge', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type KnowledgeConfig = ValuesOf<typeof knowledgeSettings>;
