import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Environment, readAll, readSettings } from '@parley/kernel/config';
import { httpUrl, leaseMs, positiveInt } from '@parley/kernel/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings';
import { portSettings, secretsKeysSetting } from '@parley/kernel/shared-settings';
import { type ModelSettings, modelSettings, readModelSettings } from './models/model-settings.ts';

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
  generationLeaseMs: setting(
    'AGENT_IDEMPOTENCY_LEASE_MS',
    leaseMs.default(30_000),
    'After so long without a sign of the process that works on a `generateText` with an `Idempotency-Key`, a retry asks the model again.',
  ),
  maxAnswerBytes: setting(
    'AGENT_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Bytes of one answer of the subgraph; more is `ANSWER_TOO_LARGE`.',
  ),
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
