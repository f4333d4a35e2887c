import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { ConversationMessage, ModelMessage } from '../models/model.ts';
import { withShorterResults } from '../tools/tool-result.ts';

/** What a model is sent in a turn. */
export interface TurnContent {
  /** Ends with the user's message to answer. */
  conversation: ConversationMessage[];
  passages: Passage[] | undefined;
  /** The tool calls of the turn so far, and their results. */
  exchange: ModelMessage[];
}

/**
 * What to send in place of what was too long: results of tools cut, then the newer half of the conversation, because that only grows and no
 * later message would be answered either, then no passages. Undefined where nothing is left to leave out.
 */
export function shorterRequest(content: TurnContent): TurnContent | undefined {
  const { conversation, passages, exchange } = content;
  const shorter = withShorterResults(exchange);
  if (shorter) return { ...content, exchange: shorter };
  if (conversation.length > 1) return { ...content, conversation: newerHalf(conversation) };
  return passages?.length ? { ...content, passages: [] } : undefined;
}

/** Starts with a user message and ends with the one to answer. */
function newerHalf(messages: ConversationMessage[]): ConversationMessage[] {
  const middle = Math.ceil(messages.length / 2);
  return messages.slice(messages.findIndex(({ role }, at) => at >= middle && role === 'user'));
}
