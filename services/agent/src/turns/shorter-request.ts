import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { ConversationMessage, ModelMessage } from '../models/model.ts';
import { withShorterResults } from '../tools/tool-result.ts';

/** The content of a model request in a turn. */
export interface TurnContent {
  /** The conversation. Its last message is the user's message to be answered. */
  conversation: ConversationMessage[];
  passages: Passage[] | undefined;
  /** The tool calls of the turn so far, and their results. */
  exchange: ModelMessage[];
}

/**
 * Returns a shorter version of a request that was too long for the model; undefined if nothing remains to drop.
 * - First it halves long tool results.
 * - If no result is long, it drops the older half of the conversation rather than the passages, because otherwise the requests of later
 *   turns would be too long as well.
 * - Last, it drops the passages.
 */
export function shorterRequest(content: TurnContent): TurnContent | undefined {
  const { conversation, passages, exchange } = content;
  const shorter = withShorterResults(exchange);
  if (shorter) return { ...content, exchange: shorter };
  if (conversation.length > 1) return { ...content, conversation: newerHalf(conversation) };
  return passages?.length ? { ...content, passages: [] } : undefined;
}

/** Returns the newer half of a conversation. The half starts with a user message, and ends with the message to be answered. */
function newerHalf(messages: ConversationMessage[]): ConversationMessage[] {
  const middle = Math.ceil(messages.length / 2);
  return messages.slice(messages.findIndex(({ role }, at) => at >= middle && role === 'user'));
}
