import { estimateTokens } from '@parley/text/token-estimate';
import { alternating } from './alternating.ts';
import type { ModelRequest } from './model.ts';

/** Tokens of everything a request sends, where the provider gives no figure. */
export function estimateRequestTokens(request: ModelRequest): number {
  const { system, messages } = alternating(request);
  return estimateTokens(system, ...messages.map(({ text }) => text));
}
