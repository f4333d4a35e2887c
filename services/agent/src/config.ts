import { defaultMaxAnswerBytes } from '@parley/chassis/answer-budget';
import { type Environment, httpUrl, port, positiveInt, readSettings } from '@parley/chassis/config';
import { turnsAtOnceSetting } from '@parley/chassis/turns-at-once';
import type { DocumentationUrls } from './catalogue.ts';
import { type ModelSettings, modelSettingsOf, modelSettingsShape } from './models/model-settings.ts';

export interface AgentConfig {
  /** Where other units reach it; 0, the default, is any free port. So for the others. */
  rpcPort: number;
  /** Where the gateway reaches its subgraph. */
  graphPort: number;
  /** Where liveness, readiness and metrics are asked for. */
  opsPort: number;
  /** Bytes of one answer of the subgraph. Default 32 MB. */
  maxAnswerBytes: number;
  /** What `agentConfigOptions` points people to. */
  documentation: DocumentationUrls;
  /** Which models answer. */
  models: ModelSettings;
}

/** Reads agent's settings; the README has what each means. @throws SettingsError naming all that is wrong. */
export function readAgentConfig(env: Environment): AgentConfig {
  const read = readSettings(env, {
    AGENT_RPC_PORT: port.default(0),
    AGENT_GRAPH_PORT: port.default(0),
    AGENT_OPS_PORT: port.default(0),
    AGENT_TTS_VOICE_CATALOG_URL: httpUrl.default(
      'https://github.com/espeak-ng/espeak-ng/blob/master/docs/languages.md',
    ),
    AGENT_STT_LANGUAGE_CATALOG_URL: httpUrl.default('https://github.com/openai/whisper#available-models-and-languages'),
    AGENT_LIPSYNC_DOCS_URL: httpUrl.default('https://github.com/met4citizen/TalkingHead'),
    AGENT_MAX_ANSWER_BYTES: positiveInt.default(defaultMaxAnswerBytes),
    ...turnsAtOnceSetting,
    ...modelSettingsShape,
  });
  return {
    rpcPort: read.AGENT_RPC_PORT,
    graphPort: read.AGENT_GRAPH_PORT,
    opsPort: read.AGENT_OPS_PORT,
    maxAnswerBytes: read.AGENT_MAX_ANSWER_BYTES,
    documentation: {
      ttsVoiceCatalogUrl: read.AGENT_TTS_VOICE_CATALOG_URL,
      sttLanguageCatalogUrl: read.AGENT_STT_LANGUAGE_CATALOG_URL,
      lipsyncModuleDocsUrl: read.AGENT_LIPSYNC_DOCS_URL,
    },
    models: modelSettingsOf(read, read.SESSION_TURNS_AT_ONCE),
  };
}
