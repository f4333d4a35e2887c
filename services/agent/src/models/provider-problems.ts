import type { Environment } from '@parley/kernel/settings/config';
import { awsKeyOf } from './aws-key.ts';
import { cloudHostedModels, directModelApi, hostedSmallModel, type ProviderId } from './provider-settings.ts';

const requiredOf: Record<ProviderId, string> = {
  HOSTED_SMALL_MODEL: hostedSmallModel.name,
  CLOUD_HOSTED_MODELS: cloudHostedModels.name,
  DIRECT_MODEL_API: directModelApi.name,
};

/** Returns the problems of combinations of settings. The declarations check only single settings. */
export function providerProblems(env: Environment): string[] {
  return [...keyProblems(env, 'CLOUD_HOSTED_MODELS'), ...keyProblems(env, 'DIRECT_MODEL_API'), ...nameProblems(env)];
}

function keyProblems(env: Environment, id: 'CLOUD_HOSTED_MODELS' | 'DIRECT_MODEL_API'): string[] {
  if (!env[requiredOf[id]]) return [];
  const api = env[`${id}_API`]?.trim() || (id === 'CLOUD_HOSTED_MODELS' ? 'bedrock' : 'openai');
  const key = env[`${id}_KEY`];
  if (!key && api === 'bedrock') return [`${id}_KEY: is missing, and ${id}_API is bedrock`];
  if (!key && !env[`${id}_URL`]) return [`${id}_KEY: is missing, and ${id}_URL is the vendor's own`];
  if (key && api === 'bedrock' && !awsKeyOf(key)) {
    return [`${id}_KEY: is neither an API key nor <access key id>:<secret access key>[:<session token>]`];
  }
  return [];
}

function nameProblems(env: Environment): string[] {
  const isUnconfigured = (id: string): id is ProviderId =>
    Object.hasOwn(requiredOf, id) && !env[requiredOf[id as ProviderId]];
  const named = (name: string) => (env[name] ?? '').split(',').map((id) => ({ name, id: id.trim() }));
  return ['LLM_DEFAULT_PROVIDER', 'LLM_FALLBACKS']
    .flatMap(named)
    .flatMap(({ name, id }) =>
      isUnconfigured(id) ? [`${name}: ${id} is not configured (${requiredOf[id]} is missing)`] : [],
    );
}
