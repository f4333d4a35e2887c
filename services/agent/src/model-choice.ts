import type { TenantCaller } from '@parley/kernel/caller';
import type { Agent } from './agent.ts';
import type { ChosenModel, Models } from './models/models.ts';
import type { TenantOverrides } from './tenant-overrides.ts';

/** The model that answers for an agent. */
export type ModelChooser = (
  agent: Pick<Agent, 'llmProviderOverride' | 'llmModelOverride'>,
  caller: TenantCaller,
) => Promise<ChosenModel>;

/** The one provider whose model can be chosen too. */
const manyModels = 'CLOUD_HOSTED_MODELS';

/**
 * The agent's override with its model, else the tenant's with its model, else the platform's default. An override that names a
 * provider which is not configured is passed over. The tenant is asked about only where its answer can make a difference: with
 * a single fixed model behind the platform no call stands before the first token.
 */
export function modelChooser(models: Pick<Models, 'choose' | 'describe'>, overrides: TenantOverrides): ModelChooser {
  const configured = new Set(models.describe().map(({ providerId }) => providerId));
  const overridesMatter = configured.size > 1 || configured.has(manyModels);
  const choose = (provider: string, model: string | null) =>
    models.choose({
      providerOverride: provider,
      ...(provider === manyModels && model && { modelOverride: model }),
    });

  return async ({ llmProviderOverride, llmModelOverride }, caller) => {
    if (!overridesMatter) return models.choose();
    if (llmProviderOverride && configured.has(llmProviderOverride))
      return choose(llmProviderOverride, llmModelOverride);
    const { provider, model } = await overrides(caller);
    return configured.has(provider) ? choose(provider, model) : models.choose();
  };
}
