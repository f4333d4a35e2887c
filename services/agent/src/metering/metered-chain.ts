import type { CallAccount, MeteredCall, SpendMeter } from '@parley/metering/spend-meter';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { FinishReason, ModelRequest, ToolCallEvent } from '../models/model.ts';
import { ModelError } from '../models/model-error.ts';
import type { ModelMetrics } from '../models/model-metrics.ts';
import type { ChosenModel } from '../models/models.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Untimed } from '../turns/turn.ts';
import type { CallCosts } from './call-cost.ts';
import { type CallSpent, type CallUsage, callUsage, toTurnUsage } from './call-usage.ts';
import { sideEvents } from './side-events.ts';

export interface Metering {
  meter: Pick<SpendMeter, 'open'>;
  costs: CallCosts;
  metrics: Pick<ModelMetrics, 'spent'>;
}

export interface CallOptions {
  account: CallAccount;
  signal: AbortSignal;
  /** Waits for a slot. Default: waits for a slot of the model; the call's signal cancels the wait. */
  acquireSlot?: (model: ChosenModel) => Promise<Disposable>;
  /** Stops the caller's clock while the call waits for a slot. Ignored if `acquireSlot` is given. */
  untimed?: Untimed | undefined;
  /** A reservation made earlier. Default: the call reserves as soon as it has a slot. */
  reserved?: MeteredCall | undefined;
  /** Called each time that a model of the chain is asked. */
  onAsked?: () => void;
  /** Whether to send a `used` event also when the tokenizer has counted the prompt, and when the model has written more thoughts. */
  reportsUsage?: boolean;
  /** Called with the whole answer before the call is settled. Must not reject. */
  beforeSettled?: (answer: ServedAnswer) => Promise<void>;
}

export interface ServedAnswer extends CallSpent {
  text: string;
  /** Why the answer ended. Undefined for an answer that was stored before finish reasons were recorded. */
  finishReason?: FinishReason | undefined;
}

/**
 * Each event contains the call's total usage so far: the usage of failed attempts, and an estimate for the request in flight.
 * `used`: the total has changed, e.g. because a model is asked or abandoned, or because the call fails.
 * `finish`: sent once, as the last event.
 */
export type MeteredEvent = { usage: TurnUsage } & (
  | { type: 'used' }
  | { type: 'text'; text: string }
  | ToolCallEvent
  | ({ type: 'finish'; finishReason: FinishReason } & CallSpent)
);

/**
 * Minimum number of thought tokens between two `used` events. It limits the number of messages, because each event is a separate message.
 */
const thoughtStep = 64;

/** Calls the chain within the tenant's spending cap. However the call ends, its usage is settled exactly once. */
export async function* meteredStream(
  metering: Metering,
  chain: ProviderChain,
  request: ModelRequest,
  options: CallOptions,
): AsyncGenerator<MeteredEvent> {
  const call = openCall(metering, chain, request, options);
  const usage = callUsage(metering.costs, request, chain.first);
  const side = sideEvents<{ type: 'used' }>();
  const report = options.reportsUsage ? () => side.push({ type: 'used' }) : undefined;
  let reportedTokens = 0;
  const onThought = (piece: string) => {
    usage.wrote('thought', piece);
    if (usage.tokensWritten() < reportedTokens + thoughtStep) return;
    reportedTokens = usage.tokensWritten();
    report?.();
  };
  try {
    const events = chain.stream(request, { ...call.chainCall, onThought });
    for await (const event of report ? side.among(events) : events) {
      if (event.type === 'finish') {
        const { type, model, finishReason, ...figures } = event;
        const served = usage.served(model, figures);
        await call.served({ text: usage.text, finishReason, ...served });
        yield { type, finishReason, ...served, usage: toTurnUsage(served, figures.tokensIn) };
        return; // a token count that completes later is dropped
      }
      if (event.type === 'asked') {
        reportedTokens = 0;
        usage.asked(event.model, report);
        options.onAsked?.();
      }
      if (event.type === 'abandoned') usage.fellBack(event.model, event.usage);
      if (event.type === 'text') usage.wrote('text', event.text);
      const isShown = event.type === 'text' || event.type === 'toolCall';
      yield isShown ? { ...event, usage: usage.soFar() } : { type: 'used', usage: usage.soFar() };
    }
  } catch (error) {
    if (error instanceof ModelError) await call.settle(usage.failed(error.usage), error.usage.tokensOut > 0);
    else await call.abandon(usage);
    if (call.spent) yield { type: 'used', usage: toTurnUsage(call.spent, usage.soFar().contextTokens) };
    throw error;
  } finally {
    await call.abandon(usage);
  }
}

/**
 * Returns a whole answer. The answer is streamed from the provider, so that the first-token timeout detects a provider
 * that sends nothing.
 */
export async function meteredGenerate(
  metering: Metering,
  chain: ProviderChain,
  request: ModelRequest,
  options: CallOptions,
): Promise<ServedAnswer> {
  let text = '';
  for await (const event of meteredStream(metering, chain, request, options)) {
    if (event.type === 'text') text += event.text;
    if (event.type !== 'finish') continue;
    const { finishReason, spent, estimated } = event;
    return { text, finishReason, spent, estimated };
  }
  throw new Error('a stream ended without its end');
}

/** Reserves the maximum cost of a call, and settles the actual cost once. */
function openCall(
  { meter, costs, metrics }: Metering,
  chain: ProviderChain,
  request: ModelRequest,
  { account, signal, reserved, acquireSlot, untimed = (wait) => wait(), beforeSettled }: CallOptions,
) {
  const { tenantId, isDirect } = account;
  const metered = reserved ?? meter.open(account);
  let isReserved = reserved !== undefined;
  let settled: CallSpent | undefined;

  async function settle({ spent, estimated }: CallSpent, served: boolean): Promise<void> {
    if (settled || !isReserved) return;
    settled = { spent, estimated };
    metrics.spent(spent, account.operation, spent.costUsdE8);
    await metered.settle({ ...spent, estimated, served });
  }

  return {
    chainCall: {
      tenantId,
      signal,
      acquireSlot:
        acquireSlot ?? ((model: ChosenModel) => untimed(() => model.acquireSlot(tenantId, signal, { isDirect }))),
      async beforeFirst() {
        if (reserved) await reserved.begin();
        else await metered.reserve(costs.upperEstimate(chain, request), true);
        isReserved = true;
      },
    },
    /** The settled spend; undefined before the settlement. */
    get spent(): CallSpent | undefined {
      return settled;
    },
    settle,
    async served(answer: ServedAnswer): Promise<void> {
      await beforeSettled?.(answer);
      await settle(answer, true);
    },
    /** Settles a call whose caller has left. Does nothing if it is already settled. */
    async abandon(usage: CallUsage): Promise<void> {
      if (settled || !isReserved) return;
      const { served, ...spent } = await usage.abandoned();
      void settle(spent, served);
    },
  };
}
