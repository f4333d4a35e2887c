import { fairQueue } from '@parley/kernel/fair-queue';
import type { Model } from './model.ts';
import type { ModelSettings, ProviderSettings } from './model-settings.ts';
import { offlineModel } from './offline-model.ts';
import { type ModelLog, openAICompatibleModel } from './openai-compatible-model.ts';
import { providerConnections } from './provider-connections.ts';
import { tracedModel } from './traced-model.ts';

/** What an agent, else its tenant, asks for; both from one place, a pair is never mixed. */
export interface ModelChoice {
  providerOverride?: string | null;
  /** Replaces the chosen provider's own model, where the provider has more than one. */
  modelOverride?: string | null;
}

/** One line of the start-up banner. */
export interface ModelDescription {
  providerId: string;
  modelId: string;
  offline: boolean;
  text: string;
}

/** A model that takes so many calls at once. */
export interface ChosenModel extends Model {
  /**
   * Waits for a place among the calls of the model's provider, which tenants are given in turn; the call is made when it is there,
   * so that no time limit of the call runs before, and it is disposed of when the call is over. @throws the signal's reason, where
   * that comes first.
   */
  admit(tenantId: number, signal: AbortSignal): Promise<Disposable>;
}

/** The models that this process can call. */
export interface Models {
  /** The model for one call. An override that names a provider which is not configured is skipped. */
  choose(choice?: ModelChoice): ChosenModel;
  /** How many calls wait for a place. */
  readonly waiting: number;
  /** What answers, first choice first. */
  describe(): ModelDescription[];
  /** Closes the connections to all providers, cutting what still runs. */
  close(): Promise<void>;
}

/** A configured provider: its model by id, and what it holds open. */
interface Provider {
  model(modelId?: string): ChosenModel;
  /** How many calls wait for a place. */
  readonly waiting: number;
  text: string;
  close(): Promise<void>;
}

/** Connects what `settings` configure; with nothing configured the offline model answers. */
export function createModels(settings: ModelSettings, log: ModelLog): Models {
  const providers = new Map<string, Provider>();
  if (settings.hostedSmallModel) {
    providers.set('HOSTED_SMALL_MODEL', hostedSmallModel(settings.hostedSmallModel, settings.callsAtOnce, log));
  }
  const [first = offlineProvider(settings.offlineWordPaceMs)] = providers.values();

  return {
    choose({ providerOverride, modelOverride } = {}) {
      const asked = providerOverride ? providers.get(providerOverride) : undefined;
      return asked ? asked.model(modelOverride ?? undefined) : first.model();
    },
    get waiting() {
      return [...providers.values()].reduce((sum, { waiting }) => sum + waiting, 0);
    },
    describe() {
      const all = providers.size > 0 ? [...providers.values()] : [first];
      return all.map(({ model, text }) => {
        const { providerId, modelId, offline } = model();
        return { providerId, modelId, offline, text };
      });
    },
    async close() {
      await Promise.all([...providers.values()].map((provider) => provider.close()));
    },
  };
}

function hostedSmallModel(settings: ProviderSettings, callsAtOnce: number, log: ModelLog): Provider {
  const queue = fairQueue({ underWay: callsAtOnce, shares: { tenant: {} } });
  // As many as there are places: a call that has been let through does not wait for a connection.
  const connections = providerConnections(settings.url, { connections: callsAtOnce });
  const model = {
    ...tracedModel(openAICompatibleModel({ providerId: 'HOSTED_SMALL_MODEL', ...settings }, connections, log)),
    async admit(tenant: number, signal: AbortSignal) {
      signal.throwIfAborted();
      return { [Symbol.dispose]: await queue.enter({ tenant }, () => signal) };
    },
  };
  return {
    // It is one fixed model: overrides of the model do not count here.
    model: () => model,
    get waiting() {
      return queue.waiting;
    },
    text: `${settings.modelId} at ${new URL(settings.url).origin} (OpenAI-compatible)`,
    close: () => connections.close(),
  };
}

function offlineProvider(wordPaceMs: number): Provider {
  // It has no connections that could be short.
  const admit = async () => ({ [Symbol.dispose]: () => undefined });
  const model = { ...tracedModel(offlineModel({ wordPaceMs })), admit };
  return {
    model: () => model,
    waiting: 0,
    text: 'the built-in offline model, which is no LLM: it extracts its answers from the persona and the conversation (set HOSTED_SMALL_MODEL_URL for a real one)',
    close: async () => {},
  };
}
