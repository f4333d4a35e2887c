import { type Environment, readAll, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { oneOf, someOf } from '@parley/kernel/settings/setting-types';
import { setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { turnsAtOnceSetting } from '@parley/kernel/settings/shared-settings';
import type { Prices } from '@parley/metering/prices';
import { pricesSetting } from '@parley/metering/prices-setting';
import { providerProblems } from './provider-problems.ts';
import {
  cloudHostedModels,
  directModelApi,
  hostedSmallModel,
  type ProviderApi,
  type ProviderId,
  providerIds,
} from './provider-settings.ts';
import { vendorUrl } from './vendor-url.ts';

export const modelSettings = {
  callsAtOnce: turnsAtOnceSetting,
  providers: { hostedSmallModel, cloudHostedModels, directModelApi },
  defaultProvider: setting(
    'LLM_DEFAULT_PROVIDER',
    oneOf(providerIds).optional(),
    'The model provider that answers unless another provider is named.',
    { without: 'the first configured provider, in the order of these names; if none is configured, the offline model' },
  ),
  fallbacks: setting(
    'LLM_FALLBACKS',
    someOf(providerIds).default([]),
    'Model providers that are asked next, in the order given here, if a provider fails before the first word of its answer and the failure may be temporary: unreachable, too slow, rate limited, or an error of the server. Separated by commas. If a provider refuses the key, the model or the request, no other provider is asked.',
    { without: 'none' },
  ),
  prices: pricesSetting,
};

type Read = ValuesOf<typeof modelSettings>;
type Group = NonNullable<Read['providers'][keyof Read['providers']]>;

export interface ProviderSettings
  extends Pick<
    Group,
    | 'contextTokens'
    | 'maxOutputTokens'
    | 'retries'
    | 'connectTimeoutMs'
    | 'firstTokenTimeoutMs'
    | 'idleTimeoutMs'
    | 'callTimeoutMs'
  > {
  id: ProviderId;
  /** `openai-compatible`: any server of OpenAI's format. `openai`: OpenAI itself, whose models have more requirements. */
  api: ProviderApi | 'openai-compatible';
  url: string;
  region?: string | undefined;
  key?: string | undefined;
  modelId: string;
  /** `never`: no model gets images. `priced`: models get images if the price table lists them with vision. */
  visionModels: string[] | 'never' | 'priced';
}

export interface ModelSettings extends Pick<Read, 'callsAtOnce'> {
  /** The configured providers, the default one first. */
  providers: ProviderSettings[];
  fallbacks: ProviderId[];
  prices: Prices;
  /** Milliseconds between words of the offline model, so that people can read along; 0 in tests. */
  offlineWordPaceMs: number;
}

/** @throws SettingsError naming every setting that is missing or wrong, entries of the price file included */
export function readModelSettings(env: Environment): ModelSettings {
  const { read } = readAll({
    read: () => readSettings(env, modelSettings),
    problems: () => {
      const problems = providerProblems(env);
      if (problems.length > 0) throw new SettingsError(problems);
    },
  });
  const { callsAtOnce, fallbacks, defaultProvider, prices } = read;
  const configured = configuredProviders(read.providers);
  const first = configured.find(({ id }) => id === defaultProvider) ?? configured[0];
  const providers = first ? [first, ...configured.filter((each) => each !== first)] : [];
  return { callsAtOnce, providers, fallbacks, prices, offlineWordPaceMs: 15 };
}

function configuredProviders({ hostedSmallModel, cloudHostedModels, directModelApi }: Read['providers']) {
  const providers: ProviderSettings[] = [];
  if (hostedSmallModel) {
    providers.push({
      ...hostedSmallModel,
      id: 'HOSTED_SMALL_MODEL',
      api: 'openai-compatible',
      visionModels: 'never',
    });
  }
  if (cloudHostedModels) {
    const { api, region, visionModels = 'priced' } = cloudHostedModels;
    const url = cloudHostedModels.url ?? vendorUrl(api, region);
    providers.push({ ...cloudHostedModels, id: 'CLOUD_HOSTED_MODELS', url, visionModels });
  }
  if (directModelApi) {
    const url = directModelApi.url ?? vendorUrl(directModelApi.api);
    providers.push({ ...directModelApi, id: 'DIRECT_MODEL_API', url, visionModels: 'never' });
  }
  return providers;
}
