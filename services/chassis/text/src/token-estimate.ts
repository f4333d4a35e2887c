import { codePoints } from '@parley/kernel/input-checks';

/** Estimates the tokens of texts in one request, for providers that report none: Unicode characters / 4, rounded up. */
export function estimateTokens(...texts: string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + codePoints(text), 0) / 4);
}
