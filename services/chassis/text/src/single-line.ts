import { isShapeless } from '@parley/kernel/input-checks';

/** Line breaks, control characters, and marks that change the direction of the text around them. */
const breaking = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const allBreaking = new RegExp(`(?:${breaking.source}|\\s)+`, 'gu');

/**
 * Invisible characters. Exceptions are characters that shape the preceding one, and direction marks, which are part of Arabic and Hebrew
 * names.
 */
const invisible =
  /[\p{Default_Ignorable_Code_Point}--[\u034f\u061c\u200c-\u200f\u202a-\u202e\u2066-\u2069\u{e0020}-\u{e007f}\p{Variation_Selector}]]/v;
/** Tags that are not part of a flag. The flags of England, Scotland and Wales are a black flag followed by six tags. */
const tagsOfNoFlag = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]{0,6})[\u{e0020}-\u{e007f}]/v;
/** Joiners without effect. A joiner has an effect between emoji, and between letters of scripts such as Arabic and Devanagari. */
const joinersOfNothing =
  /(?<![\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]|[\p{L}--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]])[\u200c\u200d]/v;
const allInvisible = new RegExp(
  [invisible, tagsOfNoFlag, joinersOfNothing].map(({ source }) => source).join('|'),
  'gv',
);

/**
 * Returns why a non-blank text is not a one-line name; undefined if it is one. The returned text continues a message that begins with the
 * field's path.
 */
export function singleLineProblem(name: string): string | undefined {
  return breaking.test(name) ? 'must not hold line breaks or control characters' : undefined;
}

/** Returns the name in one line: each break becomes a space, and invisible characters are removed. */
export function toSingleLine(name: string): string {
  const line = name.replaceAll(allInvisible, '').replaceAll(allBreaking, ' ').trim();
  return isShapeless(line) ? '' : line;
}
