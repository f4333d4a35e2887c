import { commonWords } from './embeddings/common-words.ts';
import { plainForm, stemOf, withoutMarkRuns } from './embeddings/text-features.ts';

const maxTerms = 30;
/** PostgreSQL refuses words of 2 KB. */
const maxLetters = 100;

/** A `tsquery` for each word, with other endings too. Has letters and digits alone, so that no query is a syntax error. */
export function searchTerms(query: string): string[] {
  const words = [
    ...new Set(
      withoutMarkRuns(query)
        .normalize('NFC')
        .match(/[\p{L}\p{N}\p{M}]+/gu),
    ),
  ].map((word) => word.slice(0, maxLetters).toWellFormed());
  const telling = words.filter((word) => !commonWords.has(plainForm(word)));
  return (telling.length > 0 ? telling : words).slice(0, maxTerms).map((word) =>
    formsOf(word)
      .map((form) => `'${form}':*`)
      .join(' | '),
  );
}

/** Databases with the locale C have only ASCII letters in lower case, so that a word may stand there as it was written. */
function formsOf(word: string): string[] {
  const lower = word.toLowerCase();
  if (/^[a-z]+$/u.test(lower)) return [stemOf(lower)];
  if (/^\p{ASCII}+$/u.test(lower)) return [lower];
  return [...new Set([lower, word, lower.charAt(0).toUpperCase() + lower.slice(1)])];
}
