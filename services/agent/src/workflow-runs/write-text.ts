import type { TenantRequest } from '@parley/kernel/caller-request';
import type { ConversationMessage, FinishReason } from '../models/model.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Ports } from '../ports.ts';
import { modelReply } from '../turns/model-reply.ts';
import type { TurnEvent, TurnScope } from '../turns/turn.ts';
import type { EffectOutcome, LlmEffect } from '../workflow/state.ts';

const usualPassages = 6;

const cutWarnings: Partial<Record<FinishReason, string>> = {
  length: 'The text was cut at the limit of tokens',
  contentFilter: 'The text was cut by the model, or a filter of its provider',
};

/**
 * Lets the model write a text like a reply, with passages and rounds of tool calls. The offline model follows no instructions; if the
 * prompt contains the user's message, the offline model answers that message.
 */
export async function* writeText(
  ports: Ports,
  request: TenantRequest,
  scope: TurnScope,
  { effect, persona, chain: choose }: { effect: LlmEffect; persona: string; chain: () => Promise<ProviderChain> },
): AsyncGenerator<TurnEvent, EffectOutcome> {
  const { knowledgeBaseId, topK = usualPassages, tools = [], system = persona, isRepeated } = effect;
  const chain = await choose();
  const message = scope.history.at(-1)?.text ?? '';
  const isMessageAsked = chain.first.offline && message !== '' && effect.prompt.includes(message);
  const prompt: ConversationMessage = { role: 'user', text: isMessageAsked ? message : effect.prompt };
  const reply = modelReply(ports, request, scope, {
    chain,
    system,
    conversation: effect.history ? [...scope.history.slice(0, -1), prompt] : [prompt],
    search: knowledgeBaseId === undefined ? undefined : { knowledgeBaseIds: [knowledgeBaseId], topK },
    tools,
  });
  let output = '';
  let end: FinishReason | undefined;
  for await (const { finishReason, ...event } of reply) {
    output += event.text;
    end = finishReason ?? end;
    // The finish reason is passed on only if the text is the whole response. It would have no meaning for a part of the response.
    yield isRepeated ? { ...event, ...(finishReason && { finishReason }) } : { ...event, text: '' };
  }
  const warning = end && cutWarnings[end];
  return { output, ...(warning && { warning: { code: 'OUTPUT_CUT', message: warning } }) };
}
