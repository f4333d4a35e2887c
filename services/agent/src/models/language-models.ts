import type { LanguageModelV3 } from '@ai-sdk/provider';
import { awsKeyOf } from './aws-key.ts';
import type { ProviderSettings } from './model-settings.ts';
import type { ProviderConnections } from './provider-connections.ts';

export type LanguageModels = (modelId: string) => LanguageModelV3;

/**
 * Creates the SDK's models of a provider. Every option is set that an SDK would otherwise read from its own environment variable
 * (`OPENAI_API_KEY`, `AWS_BEARER_TOKEN_BEDROCK`, …).
 */
export async function languageModels(
  { api, url: baseURL, key = '', region = '' }: Pick<ProviderSettings, 'api' | 'url' | 'key' | 'region'>,
  { fetch }: Pick<ProviderConnections, 'fetch'>,
): Promise<LanguageModels> {
  const options = { baseURL, apiKey: key, fetch: key === '' ? withoutKey(fetch) : fetch };
  switch (api) {
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      return createOpenAICompatible({ ...options, name: api, includeUsage: true, supportsStructuredOutputs: true });
    }
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI(options).chat;
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic(options);
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
      return createGoogleGenerativeAI(options);
    }
    case 'bedrock': {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
      return createAmazonBedrock({ baseURL, region, fetch, apiKey: '', ...awsKeyOf(key) });
    }
  }
}

const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key'];

/** Removes the key header for an endpoint without a key, instead of sending an empty one. */
function withoutKey(fetch: ProviderConnections['fetch']): ProviderConnections['fetch'] {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    for (const name of keyHeaders) headers.delete(name);
    return fetch(input, { ...init, headers });
  };
}
