import { codePoints } from '@parley/kernel/input-checks';

/** Tokens of texts sent together where no provider gives a figure: Unicode characters / 4, rounded up. */
export function estimateTokens(...texts: string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + codePoints(text), 0) / 4);
}
