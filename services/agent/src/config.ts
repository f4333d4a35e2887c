import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Environment, readAll, readSettings } from '@parley/kernel/settings/config';
import { httpUrl, leaseMs, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { outboundSettings, portSettings, secretsKeysSetting } from '@parley/kernel/settings/shared-settings';
import { type ModelSettings, modelSettings, readModelSettings } from './models/model-settings.ts';
import { toolSettings } from './tools/tool-settings.ts';
import { workflowRunSettings } from './workflow-runs/workflow-run-settings.ts';
import { workflowSettings } from './workflows/workflow-settings.ts';

export const agentSettings = {
  models: modelSettings,
  secretsKeys: secretsKeysSetting,
  documentation: {
    ttsVoiceCatalogUrl: setting(
      'AGENT_TTS_VOICE_CATALOG_URL',
      httpUrl.default('https://github.com/espeak-ng/espeak-ng/blob/master/docs/languages.md'),
      'URL of a page that lists the voices of speech synthesis; `agentConfigOptions` returns it as `ttsVoiceCatalogUrl`.',
      { without: "eSpeak NG's languages" },
    ),
    sttLanguageCatalogUrl: setting(
      'AGENT_STT_LANGUAGE_CATALOG_URL',
      httpUrl.default('https://github.com/openai/whisper#available-models-and-languages'),
      'URL of a page that lists the languages of speech recognition; `agentConfigOptions` returns it as `sttLanguageCatalogUrl`.',
      { without: "Whisper's languages" },
    ),
    lipsyncModuleDocsUrl: setting(
      'AGENT_LIPSYNC_DOCS_URL',
      httpUrl.default('https://github.com/met4citizen/TalkingHead'),
      'URL of the documentation of the lip-sync module; `agentConfigOptions` returns it as `lipsyncModuleDocsUrl`.',
      { without: "TalkingHead's documentation" },
    ),
  },
  voice: {
    timeoutMs: setting(
      'AGENT_VOICE_TIMEOUT_MS',
      positiveInt.default(3_000),
      'Maximum time for voice to list its avatar models. Then the last known list is returned.',
    ),
    modelsKeptMs: setting(
      'AGENT_AVATAR_MODELS_KEPT_MS',
      positiveInt.default(5_000),
      'Time for which the list of avatar models from voice is cached. After a failed request, voice is not asked again for this time either.',
    ),
  },
  generationLeaseMs: setting(
    'AGENT_IDEMPOTENCY_LEASE_MS',
    leaseMs.default(30_000),
    'If the process that works on a `generateText` with an `Idempotency-Key` does not renew its lease for this time, a retry asks the model again. Until then a retry is refused with `CONFLICT`.',
  ),
  passages: {
    passageTokens: setting(
      'AGENT_PASSAGE_TOKENS',
      positiveInt.default(4_000),
      "Maximum number of estimated tokens of passages from an agent's documents that the model gets with a turn; at most a quarter of the model's context.",
    ),
    retrievalTimeoutMs: setting(
      'AGENT_RETRIEVAL_TIMEOUT_MS',
      positiveInt.default(3_000),
      'Maximum time that a turn waits for passages. Then the turn continues without passages.',
    ),
    questionTimeoutMs: setting(
      'AGENT_QUESTION_TIMEOUT_MS',
      positiveInt.default(2_500),
      'Maximum time for the model to rewrite a message as a query that can be understood without the conversation. Then the message itself is the query.',
    ),
  },
  maxHiddenAgents: setting(
    'AGENT_MAX_HIDDEN_AGENTS',
    positiveInt.default(10_000),
    'Maximum number of hidden agents of one tenant, without deleted ones. Each different persona that sessions are started with has one hidden agent; a further persona is refused with `BAD_REQUEST`.',
  ),
  tools: toolSettings,
  workflowRuns: workflowRunSettings,
  workflows: workflowSettings,
  maxAnswerBytes: setting(
    'AGENT_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Maximum size of one answer of the subgraph; a larger answer fails with `BAD_REQUEST` (`ANSWER_TOO_LARGE`).',
  ),
  outbound: outboundSettings,
  ...portSettings('agent', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export interface AgentConfig extends Omit<ValuesOf<typeof agentSettings>, 'models'> {
  models: ModelSettings;
}

export function readAgentConfig(env: Environment): AgentConfig {
  const { all, models } = readAll({
    all: () => readSettings(env, agentSettings),
    models: () => readModelSettings(env),
  });
  return { ...all, models };
}
