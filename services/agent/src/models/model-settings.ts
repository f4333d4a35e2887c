import { httpUrl, positiveInt, SettingsError } from '@parley/chassis/config';
import { z } from 'zod';

/**
 * Which models answer, as environment names. `HOSTED_SMALL_MODEL` is one fixed model behind an OpenAI-compatible
 * endpoint (vLLM, Ollama, llama.cpp, a vendor); without its URL the built-in offline model answers.
 */
export const modelSettingsShape = {
  /** The wire format; `openai` is the one there is. */
  HOSTED_SMALL_MODEL_API: z.literal('openai', 'can only be openai').default('openai'),
  /** The base URL, `/v1` included, e.g. `http://localhost:11434/v1`. Not given: the offline model answers. */
  HOSTED_SMALL_MODEL_URL: httpUrl.optional(),
  /** The bearer key; not given: none is sent. */
  HOSTED_SMALL_MODEL_KEY: z.string().optional(),
  /** The model's name at the endpoint; needed with the URL. */
  HOSTED_SMALL_MODEL_MODEL: z.string().optional(),
  /**
   * The most tokens of a request and its answer together, as the endpoint serves the model: what is asked for at a time is kept
   * below it. An endpoint that takes less and says so is asked for less; one that cuts silently (Ollama) needs the right figure.
   */
  HOSTED_SMALL_MODEL_CONTEXT_TOKENS: positiveInt.default(16_384),
  /** The most tokens of an answer. */
  HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS: positiveInt.default(4_096),
  /** How long the first token may take, in milliseconds. */
  HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: positiveInt.default(15_000),
};

/** One provider that is configured. */
export interface ProviderSettings {
  url: string;
  key?: string;
  modelId: string;
  contextTokens: number;
  maxOutputTokens: number;
  firstTokenTimeoutMs: number;
}

export interface ModelSettings {
  /** Calls that one provider gets at once from this process; more wait, fairly by tenant. */
  callsAtOnce: number;
  hostedSmallModel?: ProviderSettings;
  /** Milliseconds between the words of the offline model: a pace that people can read. Tests take 0. */
  offlineWordPaceMs: number;
}

/**
 * Makes plain settings of what `readSettings` read.
 * @throws SettingsError where an endpoint is given without its model.
 */
export function modelSettingsOf(
  read: z.infer<z.ZodObject<typeof modelSettingsShape>>,
  callsAtOnce: number,
): ModelSettings {
  const settings: ModelSettings = { callsAtOnce, offlineWordPaceMs: 15 };
  if (read.HOSTED_SMALL_MODEL_URL === undefined) return settings;
  if (read.HOSTED_SMALL_MODEL_MODEL === undefined) {
    throw new SettingsError(['HOSTED_SMALL_MODEL_MODEL: is missing, and HOSTED_SMALL_MODEL_URL is set']);
  }
  settings.hostedSmallModel = {
    url: read.HOSTED_SMALL_MODEL_URL,
    ...(read.HOSTED_SMALL_MODEL_KEY !== undefined && { key: read.HOSTED_SMALL_MODEL_KEY }),
    modelId: read.HOSTED_SMALL_MODEL_MODEL,
    contextTokens: read.HOSTED_SMALL_MODEL_CONTEXT_TOKENS,
    maxOutputTokens: read.HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS,
    firstTokenTimeoutMs: read.HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS,
  };
  return settings;
}
