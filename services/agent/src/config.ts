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
      '`ttsVoiceCatalogUrl` of `agentConfigOptions`.',
      { without: "eSpeak NG's languages" },
    ),
    sttLanguageCatalogUrl: setting(
      'AGENT_STT_LANGUAGE_CATALOG_URL',
      httpUrl.default('https://github.com/openai/whisper#available-models-and-languages'),
      '`sttLanguageCatalogUrl`.',
      { without: "Whisper's languages" },
    ),
    lipsyncModuleDocsUrl: setting(
      'AGENT_LIPSYNC_DOCS_URL',
      httpUrl.default('https://github.com/met4citizen/TalkingHead'),
      '`lipsyncModuleDocsUrl`.',
      { without: "TalkingHead's documentation" },
    ),
  },
  voice: {
    timeoutMs: setting(
      'AGENT_VOICE_TIMEOUT_MS',
      positiveInt.default(3_000),
      'How long voice may take to list its avatar models; after that the last known are answered.',
    ),
    modelsKeptMs: setting(
      'AGENT_AVATAR_MODELS_KEPT_MS',
      positiveInt.default(5_000),
      'How long that list is answered before voice is asked again; also the pause after it did not answer.',
    ),
  },
  generationLeaseMs: setting(
    'AGENT_IDEMPOTENCY_LEASE_MS',
    leaseMs.default(30_000),
    'After so long without a sign of the process that works on a `generateText` with an `Idempotency-Key`, a retry asks the model again.',
  ),
  passages: {
    passageTokens: setting(
      'AGENT_PASSAGE_TOKENS',
      positiveInt.default(4_000),
      "How much of an agent's documents a model is sent with a turn, in estimated tokens, and at most a quarter of the model's context.",
    ),
    retrievalTimeoutMs: setting(
      'AGENT_RETRIEVAL_TIMEOUT_MS',
      positiveInt.default(3_000),
      'How long a turn waits for passages; after that it goes on without.',
    ),
    questionTimeoutMs: setting(
      'AGENT_QUESTION_TIMEOUT_MS',
      positiveInt.default(2_500),
      'How long the model may take to make a message stand alone; after that the message itself is searched for.',
    ),
  },
  maxHiddenAgents: setting(
    'AGENT_MAX_HIDDEN_AGENTS',
    positiveInt.default(10_000),
    'Live hidden agents of one tenant: one for each different persona that sessions are started with (`BAD_REQUEST`).',
  ),
  tools: toolSettings,
  workflowRuns: workflowRunSettings,
  workflows: workflowSettings,
  maxAnswerBytes: setting(
    'AGENT_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Bytes of one answer of the subgraph; more is `ANSWER_TOO_LARGE`.',
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
