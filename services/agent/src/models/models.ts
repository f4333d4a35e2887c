import { fairQueue } from '@parley/kernel/fair-queue';
import type { Model } from './model.ts';
import type { ModelSettings, ProviderSettings } from './model-settings.ts';
import { offlineModel } from './offline-model.ts';
import { type ModelLog, openAICompatibleModel } from './openai-compatible-model.ts';
import { providerConnections } from './provider-connections.ts';
import { tracedModel } from './traced-model.ts';

/** The override of an agent or of its tenant; provider and model always come from the same one. */
export interface ModelChoice {
  providerOverride?: string | null;
  /** Model of a provider that has more than one. */
  modelOverride?: string | null;
}

/** One line of the start-up banner. */
export interface ModelDescription {
  providerId: string;
  modelId: string;
  offline: boolean;
  text: string;
}

export interface ChosenModel extends Model {
  /** Waits for a slot; tenants are served round-robin. Called before the model, whose time limits do not include the wait. */
  acquireSlot(tenantId: number, signal: AbortSignal): Promise<Disposable>;
}

export type Models = ReturnType<typeof createModels>;

interface Provider {
  model(modelId?: string): ChosenModel;
  readonly waiting: number;
  text: string;
  close(): Promise<void>;
}

/** Connects the configured providers; without any, the offline model answers. */
export function createModels(settings: ModelSettings, log: ModelLog) {
  const providers = new Map<string, Provider>();
  if (settings.hostedSmallModel) {
    providers.set('HOSTED_SMALL_MODEL', hostedSmallModel(settings.hostedSmallModel, settings.callsAtOnce, log));
  }
  const [first = offlineProvider(settings.offlineWordPaceMs)] = providers.values();

  return {
    /** Chooses the model for one call. Overrides that name an unconfigured provider are skipped. */
    choose({ providerOverride, modelOverride }: ModelChoice = {}): ChosenModel {
      const asked = providerOverride ? providers.get(providerOverride) : undefined;
      return asked ? asked.model(modelOverride ?? undefined) : first.model();
    },
    get waiting() {
      return [...providers.values()].reduce((sum, { waiting }) => sum + waiting, 0);
    },
    /** The configured models, the default first. */
    describe(): ModelDescription[] {
      const all = providers.size > 0 ? [...providers.values()] : [first];
      return all.map(({ model, text }) => {
        const { providerId, modelId, offline } = model();
        return { providerId, modelId, offline, text };
      });
    },
    async close(): Promise<void> {
      await Promise.all([...providers.values()].map((provider) => provider.close()));
    },
  };
}

function hostedSmallModel(settings: ProviderSettings, callsAtOnce: number, log: ModelLog): Provider {
  const queue = fairQueue({ inFlight: callsAtOnce, shares: { tenant: {} } });
  // As many connections as slots, so that a call with a slot never waits for a connection.
  const connections = providerConnections(settings.url, { connections: callsAtOnce });
  const model = {
    ...tracedModel(openAICompatibleModel({ providerId: 'HOSTED_SMALL_MODEL', ...settings }, connections, log)),
    async acquireSlot(tenant: number, signal: AbortSignal) {
      signal.throwIfAborted();
      return { [Symbol.dispose]: await queue.enter({ tenant }, () => signal) };
    },
  };
  return {
    // One fixed model: model overrides are ignored.
    model: () => model,
    get waiting() {
      return queue.waiting;
    },
    text: `${settings.modelId} at ${new URL(settings.url).origin} (OpenAI-compatible)`,
    close: () => connections.close(),
  };
}

function offlineProvider(wordPaceMs: number): Provider {
  // No limit, because it has no connections.
  const acquireSlot = async () => ({ [Symbol.dispose]: () => undefined });
  const model = { ...tracedModel(offlineModel({ wordPaceMs })), acquireSlot };
  return {
    model: () => model,
    waiting: 0,
    text: 'the built-in offline model, which is no LLM: it extracts its answers from the persona and the conversation (set HOSTED_SMALL_MODEL_URL for a real one)',
    close: async () => {},
  };
}
