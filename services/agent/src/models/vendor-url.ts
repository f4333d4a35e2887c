import type { ProviderApi } from './provider-settings.ts';

const vendorUrls: Record<Exclude<ProviderApi, 'bedrock'>, string> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
};

export function vendorUrl(api: ProviderApi, region = 'us-east-1'): string {
  if (api !== 'bedrock') return vendorUrls[api];
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return `https://bedrock-runtime.${region}.${domain}`;
}
