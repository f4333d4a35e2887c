import type { ProviderSettings } from '../model-settings.ts';

/** A provider with the default settings. */
export const defaultProvider: ProviderSettings = {
  id: 'HOSTED_SMALL_MODEL',
  api: 'openai-compatible',
  url: 'http://127.0.0.1:9/v1',
  modelId: 'm',
  visionModels: 'never',
  contextTokens: 16_384,
  maxOutputTokens: 4_096,
  retries: 1,
  connectTimeoutMs: 5_000,
  firstTokenTimeoutMs: 10_000,
  idleTimeoutMs: 30_000,
  callTimeoutMs: 300_000,
};
