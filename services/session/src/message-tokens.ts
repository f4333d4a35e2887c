import { estimateTokens } from '@parley/text/token-estimate';

/** The role and the delimiters of a message. */
const tokensPerMessage = 4;

export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
