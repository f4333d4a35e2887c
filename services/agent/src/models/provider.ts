import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { Prices } from '@parley/metering/prices';
import { adaptedConnections } from './adapted-stream.ts';
import { languageModels } from './language-models.ts';
import type { Model, ModelLog } from './model.ts';
import type { ProviderSettings } from './model-settings.ts';
import { offlineModel } from './offline-model.ts';
import { providerConnections } from './provider-connections.ts';
import { ErrorEvent } from './provider-fault.ts';
import { sdkModel } from './sdk-model.ts';
import { tracedModel } from './traced-model.ts';

export interface SlotOptions {
  /**
   * Whether the call is made outside a session. Such calls may use at most half of the slots, and those of one tenant at most a quarter.
   * Default false.
   */
  isDirect?: boolean | undefined;
}

export interface ChosenModel extends Model {
  /**
   * Waits for a slot; tenants are served round-robin. Call it before the model is called, so that the wait does not count towards the
   * model's time limits.
   */
  acquireSlot(tenantId: number, signal: AbortSignal, options?: SlotOptions): Promise<Disposable>;
}

export interface Provider {
  readonly id: string;
  readonly retries: number;
  /** Returns the model with this id. Returns the provider's default model if no id is given, or if the provider has only one model. */
  model(modelId?: string): ChosenModel;
  readonly waiting: number;
  text: string;
  close(): Promise<void>;
}

const defaultContextTokens = 16_384;
/** Model ids come from tenants, so the cache is bounded. */
const maxModels = 64;

export function provider(
  settings: ProviderSettings,
  { callsAtOnce, prices, log }: { callsAtOnce: number; prices: Prices; log: ModelLog },
): Provider {
  const { id, url, key, retries } = settings;
  const { origin } = new URL(url);
  const queue = fairQueue({
    inFlight: callsAtOnce,
    shares: {
      direct: { inFlight: Math.ceil(callsAtOnce / 2) },
      directOfTenant: { inFlight: Math.ceil(callsAtOnce / 4) },
      tenant: {},
    },
  });
  // There are as many connections as slots, so that a call with a slot never waits for a connection.
  const connections = providerConnections(url, { connections: callsAtOnce, ...settings });
  const { fetch, isTaken, onThought } = adaptedConnections(settings.api, connections, { providerId: id, log });
  const sdk = languageModels(settings, { fetch });
  sdk.catch(() => undefined); // each call reports that the SDK could not be loaded
  const secrets = key === undefined ? [] : [key, ...key.split(':')].filter((part) => part.length >= 4);
  const isOneModel = id === 'HOSTED_SMALL_MODEL';

  function newModel(modelId: string): ChosenModel {
    // Created once per model, because an SDK's model compiles its schemas on first use.
    const languageModel = sdk.then((create) => create(checked(modelId)));
    languageModel.catch(() => undefined); // each call of the model reports why it could not be created
    const limits = limitsOf(settings, modelId, prices);
    return {
      ...tracedModel(
        sdkModel(
          { ...settings, ...limits, providerId: id, modelId, origin, secrets, isTaken, onThought },
          () => languageModel,
          log,
        ),
      ),
      async acquireSlot(tenant, signal, { isDirect = false } = {}) {
        signal.throwIfAborted();
        const parties = { tenant, ...(isDirect && { direct: 'all', directOfTenant: tenant }) };
        return { [Symbol.dispose]: await queue.enter(parties, () => signal) };
      },
    };
  }
  const ownModel = newModel(settings.modelId);
  const others = new Map<string, ChosenModel>();

  return {
    id,
    retries,
    model(modelId = settings.modelId) {
      if (isOneModel || modelId === settings.modelId) return ownModel;
      const model = others.get(modelId) ?? newModel(modelId);
      others.delete(modelId);
      others.set(modelId, model);
      const [oldest] = others.size > maxModels ? others.keys() : [];
      if (oldest !== undefined) others.delete(oldest);
      return model;
    },
    get waiting() {
      return queue.waiting;
    },
    text: `${settings.modelId} at ${origin} (${settings.api})`,
    close: () => connections.close(),
  };
}

function checked(modelId: string): string {
  if (/^[\w@][\w.:@/+-]{0,255}$/u.test(modelId) && !modelId.includes('..')) return modelId;
  throw new ErrorEvent({ type: 'model_not_found' });
}

function limitsOf(
  { modelId: ownId, visionModels, contextTokens, maxOutputTokens, api }: ProviderSettings,
  modelId: string,
  prices: Prices,
): Pick<Model, 'vision' | 'contextTokens' | 'maxOutputTokens'> & { rawEvents: boolean } {
  const price = prices.find(modelId);
  const served = modelId === ownId ? contextTokens : undefined;
  return {
    vision: Array.isArray(visionModels)
      ? visionModels.includes(modelId)
      : visionModels === 'priced' && price?.vision === true,
    contextTokens: served ?? price?.contextTokens ?? contextTokens ?? defaultContextTokens,
    maxOutputTokens: Math.min(maxOutputTokens, price?.maxOutputTokens ?? maxOutputTokens),
    rawEvents: api === 'bedrock',
  };
}

export function offlineProvider(wordPaceMs: number): Provider {
  const acquireSlot = async () => ({ [Symbol.dispose]: () => undefined });
  const model = { ...tracedModel(offlineModel({ wordPaceMs })), acquireSlot };
  return {
    id: 'OFFLINE',
    retries: 0,
    model: () => model,
    waiting: 0,
    text: 'the built-in offline model, which is no LLM: it extracts its answers from the persona and the conversation (set HOSTED_SMALL_MODEL_URL for a real one)',
    close: async () => {},
  };
}
