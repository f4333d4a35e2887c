import { codePoints } from '@parley/kernel/input-checks';

/** Estimated tokens of texts in one request, where the provider reports none: Unicode characters / 4, rounded up. */
export function estimateTokens(...texts: string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + codePoints(text), 0) / 4);
}
