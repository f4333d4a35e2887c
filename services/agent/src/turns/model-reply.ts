import type { TenantRequest } from '@parley/kernel/caller-request';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import type { AgentTool } from '../agents/agent-input.ts';
import { meteredStream } from '../metering/metered-chain.ts';
import type {
  ConversationMessage,
  FinishReason,
  ModelRequest,
  ToolCall as ModelToolCall,
  Opening,
  ToolCallEvent,
} from '../models/model.ts';
import { ModelError, type ModelErrorKind } from '../models/model-error.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Ports } from '../ports.ts';
import { openToolRounds } from '../tools/tool-rounds.ts';
import { toModelPassage } from './passages.ts';
import { retrievePassages, type Search } from './retrieve-passages.ts';
import { shorterRequest, type TurnContent } from './shorter-request.ts';
import type { TurnEvent, TurnScope } from './turn.ts';
import { turnError } from './turn-error.ts';

export interface ReplyPlan {
  chain: ProviderChain;
  system: string;
  /** The conversation. Its last message is the one to be answered. */
  conversation: ConversationMessage[];
  /** The search for passages; if undefined, the reply gets no passages. */
  search: Search | undefined;
  /** The tools that the model may call. */
  tools: readonly AgentTool[];
  /** Set if the reply opens the conversation. */
  opening?: Opening;
}

/** Generates one reply of a model, with passages and rounds of tool calls. Throws the errors of `turnError`. */
export async function* modelReply(
  ports: Ports,
  request: TenantRequest,
  scope: TurnScope,
  { chain, system, conversation, search, tools: wanted, opening: speaksFirst }: ReplyPlan,
): AsyncGenerator<TurnEvent> {
  const { signal } = request;
  const tools = chain.first.offline ? [] : wanted;
  const { contextTokens } = chain.first;
  const opening = tools.length > 0 ? openToolRounds(ports, request, scope, { tools, contextTokens }) : undefined;
  opening?.catch(() => undefined); // awaited below, after the passages
  const { passages, usage: retrieval } = yield* retrievePassages(ports, request, { search, chain, scope });
  if (passages) yield { text: '', passages };
  const rounds = await opening;
  let content: TurnContent = { conversation, passages, exchange: rounds ? yield* rounds.resume() : [] };
  let isAnswering = content.exchange.some(({ text = '' }) => text !== '');
  let earlier = retrieval;
  for (let part = 1; ; part += 1) {
    const modelRequest: ModelRequest = {
      system,
      messages: [...content.conversation, ...content.exchange],
      passages: (content.passages ?? []).map(toModelPassage),
      ...(rounds && { tools: rounds.tools }),
      ...(speaksFirst && { opening: speaksFirst }),
    };
    const account = { ...scope.account, callId: `${scope.callId}.${part}` };
    let said = '';
    let calls: ModelToolCall[] = [];
    let usage = noUsage;
    try {
      const options = { account, signal, reportsUsage: true, untimed: scope.untimed };
      for await (const event of meteredStream(ports.metering, chain, modelRequest, options)) {
        ({ usage } = event);
        const text = event.type === 'text' ? event.text : '';
        said += text;
        isAnswering ||= text !== '';
        if (event.type === 'toolCall') calls.push(toolCallOf(event));
        const { finishReason } = event.type === 'finish' ? event : {};
        if (finishReason === 'contentFilter') calls = [];
        const isEnd = finishReason !== undefined && calls.length === 0;
        yield { text, usage: sumOf(earlier, usage), ...(isEnd && { finishReason }) };
      }
    } catch (error) {
      const finishReason = error instanceof ModelError ? endsAfterWords[error.kind] : undefined;
      if (finishReason && isAnswering) {
        yield { text: '', usage: sumOf(earlier, usage), finishReason };
        return;
      }
      const isTooLong = error instanceof ModelError && error.kind === 'tooLong' && error.beforeFirstChunk;
      const shorter = isTooLong ? shorterRequest(content) : undefined;
      if (!shorter) throw turnError(error, isAnswering);
      earlier = { ...sumOf(earlier, usage), contextTokens: 0 };
      yield {
        text: '',
        usage: earlier,
        ...(shorter.passages !== content.passages && { passages: shorter.passages ?? [] }),
      };
      content = shorter;
      continue;
    }
    if (!rounds || calls.length === 0) return;
    earlier = { ...sumOf(earlier, usage), contextTokens: 0 };
    yield { text: '', usage: earlier };
    content.exchange = yield* rounds.run({ text: said, calls }, content.exchange);
  }
}

/** Maps error kinds to finish reasons, for a model that wrote text in an earlier round and failed without text in the last round. */
const endsAfterWords: Partial<Record<ModelErrorKind, FinishReason>> = {
  declined: 'contentFilter',
  limitReached: 'length',
};

function toolCallOf({ callId, name, arguments: given, replay }: ToolCallEvent): ModelToolCall {
  return { callId, name, arguments: given, ...(replay && { replay }) };
}
