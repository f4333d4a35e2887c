/** A line as the template shows it. */
export interface Line {
  text: string;
  /** Whether it is laid out from right to left. Default: no. */
  rtl?: true;
  /** Whether it is Chinese, for line breaks and punctuation. Default: no. */
  han?: true;
}

// Control characters but tab and line feed, noncharacters, and overrides of direction, which show text in another order than it has.
const unprintable = /[[\p{Cc}--[\t\n]]\u202D\u202E\p{Noncharacter_Code_Point}]/gv;
const lineEnds = /\r\n?|[\p{Zl}\p{Zp}]/gu;
/** More marks on one letter than any language has would cover the lines above it. */
const tooManyMarks = /(\p{M}{8})\p{M}+/gu;
/** So many characters without a place for a line break do not fit into a line. Ideographs break anywhere. */
const unbroken = /[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{M}\u200B-\u200D]{48}(?!\s|$|\p{M})/gu;
const zeroWidthSpace = '\u200B';
const firstLetter = /\p{L}/u;
const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
const ideograph = /\p{Script=Han}/u;
const tabWidth = 4;

/**
 * Text as a document can show it: what has no shape, such as a control character or half of a pair, becomes U+FFFD, and a word that is
 * longer than a line gets places to break. Ends of lines become line feeds.
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

/** The lines of a text, each with the direction of its first letter; that of a line without letters is that of the line before. */
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

/** A text as one line, of which a longer one than `max` characters is cut. */
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
