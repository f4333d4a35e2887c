import type { ModelLog } from './model.ts';
import type { ModelSettings } from './model-settings.ts';
import { type ChosenModel, offlineProvider, type Provider, provider } from './provider.ts';

export type { ChosenModel, Provider } from './provider.ts';

/** The override of an agent or its tenant. Provider and model always come from the same override. */
export interface ModelChoice {
  providerOverride?: string | null;
  /** A model id, for a provider that has more than one model. */
  modelOverride?: string | null;
}

/** One line of the start-up banner. */
export interface ModelDescription {
  providerId: string;
  modelId: string;
  offline: boolean;
  text: string;
}

export type Models = ReturnType<typeof createModels>;

/** Connects the configured providers. If none is configured, the offline model answers. */
export function createModels(settings: ModelSettings, log: ModelLog) {
  const { fallbacks, prices } = settings;
  const providers = new Map(
    settings.providers.map((each) => [each.id as string, provider(each, { ...settings, log })]),
  );
  const [first = offlineProvider(settings.offlineWordPaceMs)] = providers.values();

  return {
    prices,
    find(providerId: string): Provider | undefined {
      return providerId === first.id ? first : providers.get(providerId);
    },
    first,
    fallbacks: fallbacks.flatMap((id) => providers.get(id) ?? []),
    /** Chooses the model for one call. Overrides that name an unconfigured provider are skipped. */
    choose({ providerOverride, modelOverride }: ModelChoice = {}): ChosenModel {
      const asked = providerOverride ? providers.get(providerOverride) : undefined;
      return asked ? asked.model(modelOverride ?? undefined) : first.model();
    },
    get waiting() {
      return [...providers.values()].reduce((sum, { waiting }) => sum + waiting, 0);
    },
    /** Returns the configured models, the default first. */
    describe(): ModelDescription[] {
      const all = providers.size > 0 ? [...providers.values()] : [first];
      return all.map(({ model, text }) => {
        const { providerId, modelId, offline } = model();
        return { providerId, modelId, offline, text };
      });
    },
    async close(): Promise<void> {
      await Promise.all([...providers.values()].map((each) => each.close()));
    },
  };
}
