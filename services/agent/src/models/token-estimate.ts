import type { ModelRequest } from './model.ts';

/** Tokens of a text where the provider gives no figure: Unicode characters / 4, rounded up. */
export function estimateTokens(text: string): number {
  return Math.ceil(countCharacters(text) / 4);
}

/** The same for everything a request sends. */
export function estimateRequestTokens({ system, messages }: ModelRequest): number {
  const characters = messages.reduce((sum, { text }) => sum + countCharacters(text), countCharacters(system));
  return Math.ceil(characters / 4);
}

/** Code points, not UTF-16 units: an emoji is one. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    if (!isHighSurrogate(text.charCodeAt(at)) || !isLowSurrogate(text.charCodeAt(at + 1))) continue;
    count -= 1;
    at += 1;
  }
  return count;
}

/** The first half of a character of two UTF-16 units. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
