import { estimateTokens } from '@parley/text/token-estimate';

/** What a message costs beside its text: its role and its borders. */
const tokensPerMessage = 4;

/** What a message takes of a model's context. */
export function contextTokens(text: string): number {
  return estimateTokens(text) + tokensPerMessage;
}
