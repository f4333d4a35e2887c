import type { TenantCaller } from '@parley/kernel/caller';
import { invalid } from '@parley/kernel/errors';
import type { ModelMessage } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import { estimateRequestTokens } from './models/token-estimate.ts';
import type { Ports } from './ports.ts';
import { systemPrompt } from './system-prompt.ts';
import { turnError } from './turn-error.ts';

export interface Turn {
  agentId: number;
  /** The conversation, oldest first; ends with the user's message to answer. */
  history: ModelMessage[];
}

/** `request` comes before each request to the model, with its estimated tokens; then text and one `finished`. */
export type TurnEvent =
  | { type: 'request'; contextTokens: number }
  | { type: 'text'; text: string }
  | { type: 'finished'; tokensIn: number; tokensOut: number; providerId: string; modelId: string };

/** Deleted and inactive agents answer too, because running sessions continue. Errors are those of `turnError`. */
export async function* runTurn(
  ports: Ports,
  caller: TenantCaller,
  { agentId, history }: Turn,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent> {
  if (history.at(-1)?.role !== 'user')
    throw invalid({ path: 'history', message: 'must end with the message to answer' });
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const model = await ports.chooseModel(agent, caller);
  // Waits before any time limit of model or turn starts.
  using _slot = await model.acquireSlot(caller.tenantId, signal);
  let messages = history;
  for (;;) {
    const request = { system: systemPrompt(agent), messages };
    yield { type: 'request', contextTokens: estimateRequestTokens(request) };
    try {
      for await (const event of model.stream(request, { signal })) {
        if (event.type === 'text') yield event;
        else {
          const { tokensIn, tokensOut } = event;
          yield { type: 'finished', tokensIn, tokensOut, providerId: model.providerId, modelId: model.modelId };
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
