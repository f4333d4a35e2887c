/** A line of text in the document. */
export interface Line {
  text: string;
  /** Whether the line runs from right to left. Default false. */
  rtl?: true;
  /** Whether the line is Chinese, for line breaks and punctuation. Default false. */
  han?: true;
}

// Control characters except tab and line feed, noncharacters, and bidi overrides, which would reorder the displayed text.
const unprintable = /[[\p{Cc}--[\t\n]]\u202D\u202E\p{Noncharacter_Code_Point}]/gv;
const lineEnds = /\r\n?|[\p{Zl}\p{Zp}]/gu;
/** Maximum combining marks per letter: more than any language uses, but few enough not to cover other lines. */
const tooManyMarks = /(\p{M}{8})\p{M}+/gu;
/** A run of this many characters without a break opportunity does not fit into a line. Ideographs break anywhere. */
const unbroken = /[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{M}\u200B-\u200D]{48}(?!\s|$|\p{M})/gu;
const zeroWidthSpace = '\u200B';
const firstLetter = /\p{L}/u;
const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
const ideograph = /\p{Script=Han}/u;
const tabWidth = 4;

/**
 * Makes a text printable: characters without a shape, such as control characters and lone surrogates, become U+FFFD; words longer than a
 * line get break opportunities; line ends become line feeds.
 */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(lineEnds, '\n')
    .replaceAll('\t', ' '.repeat(tabWidth))
    .replaceAll(unprintable, '\uFFFD')
    .replaceAll(tooManyMarks, '$1')
    .replaceAll(unbroken, `$&${zeroWidthSpace}`);
}

/** Splits a text into lines. A line has the direction of its first letter; without letters, the direction of the previous line. */
export function linesOf(text: string): Line[] {
  let rtl = false;
  return printable(text)
    .trim()
    .split('\n')
    .map((line) => {
      const letter = firstLetter.exec(line)?.[0];
      if (letter !== undefined) rtl = rightToLeft.test(letter);
      return { text: line, ...(rtl && { rtl }), ...(ideograph.test(line) && { han: true as const }) };
    });
}

/** Returns a text as one line, truncated to `max` characters. */
export function lineOf(text: string, max = 1_000): Line {
  const characters = [
    ...text
      .slice(0, 4 * max)
      .replaceAll(/\s+/gu, ' ')
      .trim(),
  ];
  const cut = characters.length > max || text.length > 4 * max;
  const [line = { text: '' }] = linesOf(cut ? `${characters.slice(0, max - 1).join('')}…` : characters.join(''));
  return line;
}
