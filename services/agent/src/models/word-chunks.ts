const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });
const LONGEST_WORD = 24;
const PART = 6;

/** Splits a text into words with their leading spaces, without splitting graphemes. The joined chunks equal the text. */
export function wordChunks(text: string): string[] {
  const words = text.match(/\s*\S+\s*$|\s*\S+|\s+/gu) ?? [];
  return words.flatMap((word) => (word.length <= LONGEST_WORD ? [word] : parts(word)));
}

function parts(word: string): string[] {
  const graphemes = Array.from(GRAPHEMES.segment(word), ({ segment }) => segment);
  // In a script with spaces, a long word (a URL, a name) is not split.
  if (/^[\p{scx=Latn}\p{scx=Cyrl}\p{scx=Grek}\p{N}\p{P}\p{S}\s]+$/u.test(word)) return [word];
  return Array.from({ length: Math.ceil(graphemes.length / PART) }, (_, part) =>
    graphemes.slice(part * PART, (part + 1) * PART).join(''),
  );
}
