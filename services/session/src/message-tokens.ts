import { estimateTokens } from '@parley/text/token-estimate';

/** Tokens of a message in addition to its text: its role and delimiters. */
const tokensPerMessage = 4;

export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
