import type { TenantCaller } from '@parley/kernel/caller';
import { DomainError } from '@parley/kernel/errors';
import type { Agent } from '../agents/agent.ts';
import type { ModelChains } from '../models/model-chains.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import { multiModelProvider } from './model-override.ts';
import type { TenantOverrides } from './tenant-overrides.ts';

export type ModelChooser = (
  agent: Pick<Agent, 'llmProviderOverride' | 'llmModelOverride'>,
  caller: TenantCaller,
) => Promise<ProviderChain>;

/**
 * Chooses provider and model: those of the agent's override, else of the tenant's override, else the default. Skips
 * providers that are not configured.
 * @throws DomainError `unavailable`: the override names a model that is no longer in the price table
 */
export function modelChooser(
  models: Pick<ModelChains, 'chain' | 'describe' | 'isUnpriced'>,
  overrides: TenantOverrides,
): ModelChooser {
  const configured = new Set(models.describe().map(({ providerId }) => providerId));
  // With a single fixed model, overrides have no effect, so the tenant lookup is skipped. This saves time to the first token.
  const overridesMatter = configured.size > 1 || configured.has(multiModelProvider);

  function choose(provider: string, model: string | null): ProviderChain {
    const choice = { provider, model: provider === multiModelProvider && model ? model : null };
    if (models.isUnpriced(choice)) {
      throw new DomainError('unavailable', 'The model of the override has no price', { reason: 'MODEL_UNAVAILABLE' });
    }
    return models.chain(choice);
  }

  return async ({ llmProviderOverride, llmModelOverride }, caller) => {
    if (!overridesMatter) return models.chain();
    if (llmProviderOverride && configured.has(llmProviderOverride))
      return choose(llmProviderOverride, llmModelOverride);
    const { provider, model } = await overrides(caller);
    return configured.has(provider) ? choose(provider, model) : models.chain();
  };
}
