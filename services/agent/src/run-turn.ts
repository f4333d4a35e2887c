import type { TenantCaller } from '@parley/kernel/caller';
import { invalid } from '@parley/kernel/errors';
import type { ModelPrice } from '@parley/metering/model-price';
import type { TurnFinished, TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import { meteredStream } from './metered-chain.ts';
import type { ModelMessage } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import { toModelPassage } from './passages.ts';
import type { Ports } from './ports.ts';
import { requestUsage, type UsedEvent } from './request-usage.ts';
import { retrievePassages } from './retrieve-passages.ts';
import { systemPrompt } from './system-prompt.ts';
import { turnError } from './turn-error.ts';
import { sumOf } from './turn-usage.ts';

export interface Turn {
  agentId: number;
  sessionId: number;
  /** Unique to this attempt at the turn. */
  callId: string;
  /** The conversation, oldest first; ends with the user's message to answer. */
  history: ModelMessage[];
}

/**
 * `earlier` is what all calls took that ended before a reply is asked for, sent after each of them. `passages` are those that the next
 * request has; `request` comes before each one, with its estimated tokens; `used` where more is known of the same request, or its model
 * thinks; then text and one `finished`.
 */
export type TurnEvent =
  | { type: 'earlier'; usage: TurnUsage }
  | { type: 'passages'; passages: Passage[] }
  | {
      type: 'request';
      modelId: string;
      contextTokens: number;
      price: ModelPrice | undefined;
      earlier: TurnUsage | undefined;
    }
  | UsedEvent
  | { type: 'text'; text: string }
  | ({ type: 'finished' } & TurnFinished);

/** Deleted and inactive agents answer too, because running sessions continue. Errors are those of `turnError`. */
export async function* runTurn(
  ports: Ports,
  caller: TenantCaller,
  turn: Turn,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent> {
  const { agentId, sessionId, callId, history } = turn;
  if (history.at(-1)?.role !== 'user')
    throw invalid({ path: 'history', message: 'must end with the message to answer' });
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const chain = await ports.chooseModel(agent, caller);
  const { tenantId, requestId } = caller;
  const retrieved = yield* retrievePassages(ports, caller, { agent, chain, turn }, signal);
  let { passages, usage: earlier } = retrieved;
  if (passages) yield { type: 'passages', passages };
  let messages = history;
  for (let part = 1; ; part += 1) {
    const request = { system: systemPrompt(agent), messages, passages: (passages ?? []).map(toModelPassage) };
    const account = { tenantId, requestId, callId: `${callId}.${part}`, operation: 'session', agentId, sessionId };
    let spent: TurnUsage | undefined;
    const onSpent = (all: TurnUsage) => {
      spent = all;
    };
    const used = requestUsage(request);
    const stream = meteredStream(ports.metering, chain, request, {
      account,
      signal,
      onSpent,
      onThought: used.onThought,
    });
    try {
      for await (const event of used.among(stream)) {
        if (event.type === 'text') used.answers();
        if (event.type === 'text' || event.type === 'used') yield event;
        else if (event.type === 'left') {
          used.end();
          const usage = sumOf(earlier, event.attempted);
          if (usage) yield { type: 'earlier', usage };
        } else if (event.type === 'asked') {
          const price = ports.metering.costs.priceOf(event.model);
          const { modelId } = event.model;
          const contextTokens = used.begin(event.model);
          yield { type: 'request', modelId, contextTokens, price, earlier: sumOf(earlier, event.attempted) };
        } else {
          const { providerId, modelId } = event.model;
          yield {
            type: 'finished',
            tokensIn: event.usage.tokensIn + (earlier?.tokensIn ?? 0),
            tokensOut: event.usage.tokensOut + (earlier?.tokensOut ?? 0),
            contextTokens: event.contextTokens,
            costUsdE8: event.costUsdE8 + (earlier?.costUsdE8 ?? 0n),
            providerId,
            modelId,
          };
        }
      }
      return;
    } catch (error) {
      // Sent again with its newer half, because the history only grows: no later message would be answered either.
      const isTooLong = error instanceof ModelError && error.kind === 'tooLong' && error.beforeFirstChunk;
      if (!isTooLong || (messages.length === 1 && !passages?.length)) throw turnError(error);
      earlier = sumOf(earlier, spent);
      if (messages.length > 1) messages = newerHalf(messages);
      else {
        passages = [];
        yield { type: 'passages', passages };
      }
    }
  }
}

/** Starts with a user message and ends with the one to answer. */
function newerHalf(messages: ModelMessage[]): ModelMessage[] {
  const middle = Math.ceil(messages.length / 2);
  return messages.slice(messages.findIndex(({ role }, at) => at >= middle && role === 'user'));
}
