import { isHighSurrogate } from '@parley/kernel/input-checks';

/**
 * About how many tokens a model of embeddings makes of a text, in quarters: one for each character of Latin script, as many as for the
 * estimates of the ledger; two for those of other alphabets; four, a token, for those of scripts without spaces, Hangul and signs.
 */
export function quarterTokens(text: string): number {
  let quarters = 0;
  for (let at = 0; at < text.length; at += unitsAt(text, at)) quarters += quartersAt(text, at);
  return quarters;
}

/** The estimated tokens of a text, rounded up. */
export function passageTokens(text: string): number {
  return Math.ceil(quarterTokens(text) / 4);
}

/** Quarters of a token that the character at this offset counts as. */
export function quartersAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x250) return 1;
  if (code < 0xe00 || (code >= 0x10a0 && code < 0x1780 && !(code >= 0x1100 && code < 0x1200))) return 2;
  return code >= 0x1800 && code < 0x2070 ? 2 : 4;
}

/** UTF-16 code units of the character at this place. */
export function unitsAt(text: string, at: number): number {
  return isHighSurrogate(text.charCodeAt(at)) ? 2 : 1;
}

/** The longest beginning of a text with at most this many tokens. */
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

/** The longest end of a text with at most this many tokens. */
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
