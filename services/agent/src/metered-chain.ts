import type { Spent } from '@parley/metering/ledger';
import type { CallAccount, MeteredCall, SpendMeter } from '@parley/metering/spend-meter';
import type { CallCosts } from './call-cost.ts';
import { type FinishReason, type Model, type ModelRequest, noUsage, type TokenUsage } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import type { ModelMetrics } from './models/model-metrics.ts';
import type { ChosenModel } from './models/models.ts';
import type { ProviderChain } from './models/provider-chain.ts';
import { estimateUsage } from './models/token-counter.ts';

export interface Metering {
  meter: Pick<SpendMeter, 'open'>;
  costs: CallCosts;
  metrics: Pick<ModelMetrics, 'spent'>;
}

export interface CallOptions {
  account: CallAccount;
  signal: AbortSignal;
  /** Default: waits until the signal aborts. */
  acquireSlot?: (model: ChosenModel) => Promise<Disposable>;
  /** A reservation that was made before. Default: one is made as soon as there is a slot. */
  reserved?: MeteredCall | undefined;
  /** Before a model is asked, each time. */
  onAsked?: () => void;
  /** Gets what the model thinks before it answers, piece by piece. */
  onThought?: (text: string) => void;
  /** Gets the whole answer before its call is settled. Never rejects. */
  beforeSettled?: (answer: ServedAnswer) => Promise<void>;
  /** Gets what the call took in all, however it ended. Not called where no model was asked. */
  onSpent?: (spent: Spent) => void;
}

export interface ServedAnswer {
  text: string;
  spent: Spent;
  estimated: boolean;
}

/** Its usage and cost include those of attempts that failed; `contextTokens` are those of the request that was answered. */
export type MeteredEvent =
  | {
      type: 'asked';
      model: Model;
      /** What attempts before this one took; undefined at the first. */
      attempted: Pick<Spent, 'tokensIn' | 'tokensOut' | 'costUsdE8'> | undefined;
    }
  /** No model is asked any more; another attempt may follow. */
  | { type: 'left'; attempted: Pick<Spent, 'tokensIn' | 'tokensOut' | 'costUsdE8'> | undefined }
  | { type: 'text'; text: string }
  | {
      type: 'finish';
      model: Model;
      finishReason: FinishReason;
      usage: TokenUsage;
      contextTokens: number;
      costUsdE8: bigint;
    };

/** Asks the chain within the tenant's cap. However the call ends, what it took is settled once. */
export async function* meteredStream(
  metering: Metering,
  chain: ProviderChain,
  request: ModelRequest,
  options: CallOptions,
): AsyncGenerator<MeteredEvent> {
  const call = begin(metering, chain, request, options);
  /** What the model that is asked has said and thought; undefined while none is, as before another attempt. */
  let text: string | undefined;
  let thought = '';
  let asked: Model | undefined;
  const onThought = (piece: string) => {
    thought += piece;
    options.onThought?.(piece);
  };
  try {
    for await (const event of chain.stream(request, { ...call.chainCall, onThought })) {
      if (event.type === 'left') {
        text = undefined;
        call.attempted(event.model, event.usage);
        yield { type: 'left', attempted: call.soFar(event.model) };
        continue;
      }
      if (event.type === 'asked') {
        text = '';
        thought = '';
        asked = event.model;
        yield { ...event, attempted: call.soFar(asked) };
        continue;
      }
      if (event.type === 'text') {
        text = (text ?? '') + event.text;
        yield event;
        continue;
      }
      const { type, model, finishReason, ...given } = event;
      const { costUsdE8, ...usage } = await call.served(model, given, text ?? '');
      yield { type, model, finishReason, usage, contextTokens: given.tokensIn, costUsdE8 };
    }
  } catch (error) {
    if (error instanceof ModelError) await call.failed(asked, error.usage);
    throw error;
  } finally {
    await call.left(asked, text === undefined ? undefined : text + thought);
  }
}

/** One answer as a whole. Streamed from the provider all the same, so that a silent one is left after its first-token timeout. */
export async function meteredGenerate(
  metering: Metering,
  chain: ProviderChain,
  request: ModelRequest,
  options: CallOptions,
): Promise<ServedAnswer> {
  let text = '';
  for await (const event of meteredStream(metering, chain, request, options)) {
    if (event.type === 'asked') options.onAsked?.();
    if (event.type === 'text') text += event.text;
    if (event.type !== 'finish') continue;
    const { providerId, modelId } = event.model;
    const { estimated, ...tokens } = event.usage;
    return { text, spent: { providerId, modelId, ...tokens, costUsdE8: event.costUsdE8 }, estimated };
  }
  throw new Error('a stream ended without its end');
}

function begin(
  { meter, costs, metrics }: Metering,
  chain: ProviderChain,
  request: ModelRequest,
  { account, signal, reserved, acquireSlot, beforeSettled, onSpent }: CallOptions,
) {
  const { tenantId, isDirect } = account;
  const metered = reserved ?? meter.open(account);
  let isReserved = reserved !== undefined;
  let isSettled = false;
  const attempts: { spent: Spent; usage: TokenUsage }[] = [];

  /** With what attempts took that failed, under the name of the model that ended the call. */
  function inAll(model: Model, usage: TokenUsage): { spent: Spent; estimated: boolean } {
    const spent = costs.costOf(model, usage);
    for (const { spent: earlier } of attempts) {
      for (const figure of ['tokensIn', 'tokensCached', 'tokensOut'] as const) spent[figure] += earlier[figure];
      spent.costUsdE8 += earlier.costUsdE8;
    }
    return { spent, estimated: [usage, ...attempts.map((each) => each.usage)].some(({ estimated }) => estimated) };
  }

  async function settle(spent: Spent, estimated: boolean, served: boolean): Promise<void> {
    if (isSettled || !isReserved) return;
    isSettled = true;
    onSpent?.(spent);
    metrics.spent(spent, account.operation, spent.costUsdE8);
    await metered.settle({ ...spent, estimated, served });
  }

  return {
    chainCall: {
      tenantId,
      signal,
      acquireSlot: acquireSlot ?? ((model: ChosenModel) => model.acquireSlot(tenantId, signal, { isDirect })),
      async beforeFirst() {
        if (reserved) await reserved.begin();
        else await metered.reserve(costs.upperEstimate(chain, request), true);
        isReserved = true;
      },
    },
    attempted(model: Model, usage: TokenUsage): void {
      if (usage.tokensIn + usage.tokensOut > 0) attempts.push({ spent: costs.costOf(model, usage), usage });
    },
    soFar: (model: Model) => (attempts.length > 0 ? inAll(model, noUsage).spent : undefined),
    async served(model: Model, usage: TokenUsage, text: string): Promise<TokenUsage & { costUsdE8: bigint }> {
      const { spent, estimated } = inAll(model, usage);
      await beforeSettled?.({ text, spent, estimated });
      await settle(spent, estimated, true);
      const { providerId: _, modelId: __, ...figures } = spent;
      return { ...figures, estimated };
    },
    /** It counts as served where the model had begun to answer. */
    async failed(model: Model | undefined, usage: TokenUsage): Promise<void> {
      const isCounted = attempts.some((attempt) => attempt.usage === usage); // none was asked since
      const { spent, estimated } = inAll(model ?? chain.first, isCounted ? noUsage : usage);
      await settle(spent, estimated, usage.tokensOut > 0);
    },
    /**
     * Whoever asked has left: a model that is asked has read the request and written so much, undefined where none is asked. `model`:
     * the last one that was. Does nothing after the end of the call.
     */
    async left(model: Model = chain.first, written: string | undefined): Promise<void> {
      if (isSettled || !isReserved) return;
      const usage = written === undefined ? noUsage : await estimateUsage(model, request, written);
      const { spent, estimated } = inAll(model, usage);
      void settle(spent, estimated, written !== undefined);
    },
  };
}
