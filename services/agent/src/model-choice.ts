import type { TenantCaller } from '@parley/kernel/caller';
import type { Agent } from './agent.ts';
import type { ChosenModel, Models } from './models/models.ts';
import type { TenantOverrides } from './tenant-overrides.ts';

export type ModelChooser = (
  agent: Pick<Agent, 'llmProviderOverride' | 'llmModelOverride'>,
  caller: TenantCaller,
) => Promise<ChosenModel>;

const multiModelProvider = 'CLOUD_HOSTED_MODELS';

/** The agent's override with its model, else the tenant's with its model, else the default. Skips unconfigured providers. */
export function modelChooser(models: Pick<Models, 'choose' | 'describe'>, overrides: TenantOverrides): ModelChooser {
  const configured = new Set(models.describe().map(({ providerId }) => providerId));
  // With a single fixed model no lookup of the tenant delays the first token.
  const overridesMatter = configured.size > 1 || configured.has(multiModelProvider);
  const choose = (provider: string, model: string | null) =>
    models.choose({
      providerOverride: provider,
      ...(provider === multiModelProvider && model && { modelOverride: model }),
    });

  return async ({ llmProviderOverride, llmModelOverride }, caller) => {
    if (!overridesMatter) return models.choose();
    if (llmProviderOverride && configured.has(llmProviderOverride))
      return choose(llmProviderOverride, llmModelOverride);
    const { provider, model } = await overrides(caller);
    return configured.has(provider) ? choose(provider, model) : models.choose();
  };
}
