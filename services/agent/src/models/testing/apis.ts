import type { ProviderSettings } from '../model-settings.ts';

export type ApiName = ProviderSettings['api'];

/** The wire formats. OpenAI's format occurs twice, once for each of its SDKs. */
export const apis: readonly ApiName[] = ['openai-compatible', 'openai', 'anthropic', 'google', 'bedrock'];
