const spaced = /^\S(?: \S)+$/u;
const fewestLetters = 4;

/**
 * Removes the spaces that pdf.js inserts between widely spaced letters (`H E A D L I N E`). pdf.js returns each such word as a separate
 * text. A row of single letters in alphabetical order, such as an index, is not changed.
 */
export function withoutLetterSpacing<T extends { text: string }>(runs: T[]): T[] {
  if (!runs.some(({ text }) => isWord(text))) return runs;
  return runs.map((run) => (spaced.test(run.text) ? { ...run, text: run.text.replaceAll(' ', '') } : run));
}

function isWord(text: string): boolean {
  if (!spaced.test(text)) return false;
  const letters = text.match(/\p{L}/gu) ?? [];
  if (letters.length < fewestLetters || 2 * letters.length <= text.length) return false;
  return letters.some((letter, n) => n > 0 && letter < (letters[n - 1] as string));
}
