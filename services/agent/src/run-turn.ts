import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import { meteredStream } from './metered-chain.ts';
import type { ModelMessage } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import { toModelPassage } from './passages.ts';
import type { Ports } from './ports.ts';
import { retrievePassages } from './retrieve-passages.ts';
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

/** What changed in a turn; each field as `RunTurnResponse` has it. */
export interface TurnEvent {
  text: string;
  usage?: TurnUsage;
  passages?: Passage[];
}

/** Deleted and inactive agents answer too, because running sessions continue. Errors are those of `turnError`. */
export async function* runTurn(ports: Ports, request: TenantRequest, turn: Turn): AsyncGenerator<TurnEvent> {
  const { agentId, sessionId, callId, history } = turn;
  const { caller, signal } = request;
  if (history.at(-1)?.role !== 'user')
    throw invalid({ path: 'history', message: 'must end with the message to answer' });
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const chain = await ports.chooseModel(agent, caller);
  const { tenantId, requestId } = caller;
  let { passages, usage: earlier } = yield* retrievePassages(ports, request, { agent, chain, turn });
  if (passages) yield { text: '', passages };
  let messages = history;
  for (let part = 1; ; part += 1) {
    const modelRequest = { system: systemPrompt(agent), messages, passages: (passages ?? []).map(toModelPassage) };
    const account = { tenantId, requestId, callId: `${callId}.${part}`, operation: 'session', agentId, sessionId };
    let usage = noUsage;
    try {
      for await (const event of meteredStream(ports.metering, chain, modelRequest, {
        account,
        signal,
        reportsUsage: true,
      })) {
        ({ usage } = event);
        yield { text: event.type === 'text' ? event.text : '', usage: sumOf(earlier, usage) };
      }
      return;
    } catch (error) {
      // Sent again with its newer half, because the history only grows: no later message would be answered either.
      const isTooLong = error instanceof ModelError && error.kind === 'tooLong' && error.beforeFirstChunk;
      if (!isTooLong || (messages.length === 1 && !passages?.length)) throw turnError(error);
      earlier = { ...sumOf(earlier, usage), contextTokens: 0 };
      if (messages.length > 1) {
        messages = newerHalf(messages);
        yield { text: '', usage: earlier };
      } else {
        passages = [];
        yield { text: '', usage: earlier, passages };
      }
    }
  }
}

/** Starts with a user message and ends with the one to answer. */
function newerHalf(messages: ModelMessage[]): ModelMessage[] {
  const middle = Math.ceil(messages.length / 2);
  return messages.slice(messages.findIndex(({ role }, at) => at >= middle && role === 'user'));
}
