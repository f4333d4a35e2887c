import { estimateTokens } from '@parley/text/token-estimate';

/** For a message's role and delimiters. */
const tokensPerMessage = 4;

export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
