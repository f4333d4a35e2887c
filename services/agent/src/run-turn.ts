import type { TenantCaller } from '@parley/kernel/caller';
import { invalid } from '@parley/kernel/errors';
import { modelFailure } from './model-failure.ts';
import type { ModelMessage } from './models/model.ts';
import { ModelError } from './models/model-error.ts';
import { estimateRequestTokens } from './models/token-estimate.ts';
import type { Ports } from './ports.ts';
import { systemPrompt } from './system-prompt.ts';

export interface Turn {
  agentId: number;
  /** The conversation so far, oldest first; ends with the message to answer. */
  history: ModelMessage[];
}

/** The size of what the model is asked, estimated, then the pieces of the reply and its end. */
export type TurnEvent =
  | { type: 'asking'; contextTokens: number }
  | { type: 'text'; text: string }
  | { type: 'finished'; tokensIn: number; tokensOut: number; providerId: string; modelId: string };

/**
 * Answers the last message of a conversation, as the model speaks. One indexed read stands before the model's request. A model
 * that takes less is asked again with the newer half of the conversation.
 * Deleted and inactive agents answer too: running sessions go on.
 */
export async function* runTurn(
  ports: Pick<Ports, 'readAgent' | 'chooseModel'>,
  caller: TenantCaller,
  { agentId, history }: Turn,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent> {
  if (history.at(-1)?.role !== 'user')
    throw invalid({ path: 'history', message: 'must end with the message to answer' });
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const model = await ports.chooseModel(agent, caller);
  // Neither the model's time limits nor the turn's run before the model is asked.
  using _place = await model.admit(caller.tenantId, signal);
  let messages = history;
  for (;;) {
    const request = { system: systemPrompt(agent), messages };
    yield { type: 'asking', contextTokens: estimateRequestTokens(request) };
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
      // Else no later message of the session would be answered either: its history only grows.
      const isTooLong = error instanceof ModelError && error.kind === 'tooLong' && error.beforeFirstChunk;
      if (!isTooLong || messages.length === 1) throw modelFailure(error);
      messages = newerHalf(messages);
    }
  }
}

/** Begins with a message of the person, and ends with the one to answer. */
function newerHalf(messages: ModelMessage[]): ModelMessage[] {
  const middle = Math.ceil(messages.length / 2);
  return messages.slice(messages.findIndex(({ role }, at) => at >= middle && role === 'user'));
}
