import { isHighSurrogate } from '@parley/kernel/input-checks';

/**
 * Estimates how many quarters of a token an embedding model counts in a text. A character of Latin script counts as one quarter, as in the
 * ledger's estimates. A character of any other alphabet counts as two. A character of Hangul or of a script without spaces, and any other
 * sign, counts as four quarters: a whole token.
 */
export function quarterTokens(text: string): number {
  let quarters = 0;
  for (let at = 0; at < text.length; at += unitsAt(text, at)) quarters += quartersAt(text, at);
  return quarters;
}

/** Returns the estimated tokens of a text, rounded up. */
export function passageTokens(text: string): number {
  return Math.ceil(quarterTokens(text) / 4);
}

/** Returns how many quarters of a token the character at this offset counts as. */
export function quartersAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x250) return 1;
  if (code < 0xe00 || (code >= 0x10a0 && code < 0x1780 && !(code >= 0x1100 && code < 0x1200))) return 2;
  return code >= 0x1800 && code < 0x2070 ? 2 : 4;
}

/** Returns the number of UTF-16 code units of the character at this offset. */
export function unitsAt(text: string, at: number): number {
  return isHighSurrogate(text.charCodeAt(at)) ? 2 : 1;
}

/** Returns the longest beginning of a text with at most this many tokens. */
export function firstTokens(text: string, tokens: number): string {
  let quarters = 4 * tokens;
  let at = 0;
  while (at < text.length) {
    quarters -= quartersAt(text, at);
    if (quarters < 0) break;
    at += unitsAt(text, at);
  }
  return text.slice(0, at);
}

/** Returns the longest end of a text with at most this many tokens. */
export function lastTokens(text: string, tokens: number): string {
  let quarters = 4 * tokens;
  let from = text.length;
  while (from > 0) {
    const at = from > 1 && isHighSurrogate(text.charCodeAt(from - 2)) ? from - 2 : from - 1;
    quarters -= quartersAt(text, at);
    if (quarters < 0) break;
    from = at;
  }
  return text.slice(from);
}
