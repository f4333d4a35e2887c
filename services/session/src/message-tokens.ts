import { estimateTokens } from '@parley/text/token-estimate';

/** Number of tokens that a message needs for its role and delimiters, in addition to its text. */
const tokensPerMessage = 4;

export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
