import type { TenantCaller } from '@parley/kernel/caller';
import { invalid } from '@parley/kernel/errors';
import type { ModelPrice } from '@parley/prices/model-price';
import type { TurnFinished } from '@parley/protos/parley/agent/v1/agent';
import { meteredStream } from './metered-chain.ts';
import type { ModelMessage } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import { estimateRequestTokens } from './models/token-estimate.ts';
import type { Ports } from './ports.ts';
import { systemPrompt } from './system-prompt.ts';
import { turnError } from './turn-error.ts';

export interface Turn {
  agentId: number;
  sessionId: number;
  /** Unique to this attempt at the turn. */
  callId: string;
  /** The conversation, oldest first; ends with the user's message to answer. */
  history: ModelMessage[];
}

/** `request` comes before each request to a model, with its estimated tokens; then text and one `finished`. */
export type TurnEvent =
  | { type: 'request'; modelId: string; contextTokens: number; price: ModelPrice | undefined }
  | { type: 'text'; text: string }
  | ({ type: 'finished' } & Pick<TurnFinished, 'tokensIn' | 'tokensOut' | 'costUsdE8' | 'providerId' | 'modelId'>);

/** Deleted and inactive agents answer too, because running sessions continue. Errors are those of `turnError`. */
export async function* runTurn(
  ports: Ports,
  caller: TenantCaller,
  { agentId, sessionId, callId, history }: Turn,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent> {
  if (history.at(-1)?.role !== 'user')
    throw invalid({ path: 'history', message: 'must end with the message to answer' });
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const chain = await ports.chooseModel(agent, caller);
  const { tenantId, requestId } = caller;
  let messages = history;
  for (let part = 1; ; part += 1) {
    const request = { system: systemPrompt(agent), messages };
    const account = { tenantId, requestId, callId: `${callId}.${part}`, operation: 'session', agentId, sessionId };
    try {
      for await (const event of meteredStream(ports.metering, chain, request, { account, signal })) {
        if (event.type === 'text') yield event;
        else if (event.type === 'asked') {
          const price = ports.metering.costs.priceOf(event.model);
          const { modelId } = event.model;
          yield { type: 'request', modelId, contextTokens: estimateRequestTokens(request), price };
        } else {
          const { tokensIn, tokensOut } = event.usage;
          const { providerId, modelId } = event.model;
          yield { type: 'finished', tokensIn, tokensOut, costUsdE8: event.costUsdE8, providerId, modelId };
        }
      }
      return;
    } catch (error) {
      // Sent again with its newer half, because the history only grows: no later message would be answered either.
      const isTooLong = error instanceof ModelError && error.kind === 'tooLong' && error.beforeFirstChunk;
      if (!isTooLong || messages.length === 1) throw turnError(error);
      messages = newerHalf(messages);
    }
  }
}

/** Starts with a user message and ends with the one to answer. */
function newerHalf(messages: ModelMessage[]): ModelMessage[] {
  const middle = Math.ceil(messages.length / 2);
  return messages.slice(messages.findIndex(({ role }, at) => at >= middle && role === 'user'));
}
