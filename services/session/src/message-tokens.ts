import { estimateTokens } from '@parley/text/token-estimate';

/** For a message's role and delimiters. */
const tokensPerMessage = 4;

/** Estimated tokens of a message in a model's context. */
export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
