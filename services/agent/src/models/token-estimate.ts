import { estimateTokens } from '@parley/chassis/token-estimate';
import type { ModelRequest } from './model.ts';

/** Tokens of everything a request sends, where the provider gives no figure. */
export function estimateRequestTokens({ system, messages }: ModelRequest): number {
  return estimateTokens(system, ...messages.map(({ text }) => text));
}
