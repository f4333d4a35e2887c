import type { TenantRequest } from '@parley/kernel/caller-request';
import { modelReply } from '../model-reply.ts';
import type { ConversationMessage } from '../models/model.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Ports } from '../ports.ts';
import type { TurnEvent, TurnScope } from '../turn.ts';
import type { EffectOutcome, LlmEffect } from '../workflow/state.ts';

const usualPassages = 6;

/**
 * Lets the model write a text as a reply is written: with passages, and in rounds of tool calls. The offline model, which follows no
 * instructions, answers the message itself where the prompt has it.
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
  for await (const event of reply) {
    output += event.text;
    yield isRepeated ? event : { ...event, text: '' };
  }
  return { output };
}
