import { isShapeless } from '@parley/kernel/input-checks';

/** Line breaks, control characters, and marks that turn the direction of the text around them. */
const breaking = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const allBreaking = new RegExp(`(?:${breaking.source}|\\s)+`, 'gu');

/** Not those that shape the character before them, and not direction marks, which are part of names in Arabic or Hebrew. */
const invisible =
  /[\p{Default_Ignorable_Code_Point}--[\u034f\u061c\u200c-\u200f\u202a-\u202e\u2066-\u2069\u{e0020}-\u{e007f}\p{Variation_Selector}]]/v;
/** The flags of England, Scotland and Wales are a black one with six tags. */
const tagsOfNoFlag = /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]{0,6})[\u{e0020}-\u{e007f}]/v;
/** They join emoji, and letters of scripts such as Arabic and Devanagari. */
const joinersOfNothing =
  /(?<![\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]|[\p{L}--[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]])[\u200c\u200d]/v;
const allInvisible = new RegExp(
  [invisible, tagsOfNoFlag, joinersOfNothing].map(({ source }) => source).join('|'),
  'gv',
);

/** Why a text that is not blank is no name of one line; undefined where it is. Completes "<path> …". */
export function singleLineProblem(name: string): string | undefined {
  return breaking.test(name) ? 'must not hold line breaks or control characters' : undefined;
}

/** The name in one line, each break in it a space, without characters that nobody sees. */
export function toSingleLine(name: string): string {
  const line = name.replaceAll(allInvisible, '').replaceAll(allBreaking, ' ').trim();
  return isShapeless(line) ? '' : line;
}
