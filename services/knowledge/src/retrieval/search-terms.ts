import { commonWords } from '../embeddings/common-words.ts';
import { plainForm, stemOf, withoutMarkRuns } from '../embeddings/text-features.ts';

const maxTerms = 30;
/** Maximum characters of a word; PostgreSQL refuses words of 2 KB. */
const maxLetters = 100;
/** Maximum characters of a code. Longer tokens are usually addresses rather than part or error numbers. */
const maxCode = 40;
const maxCodeParts = 6;
const maxPieces = 4;

const sign = '[-_/.:+#‐‑‒–—−]';
const letters = String.raw`[\p{L}\p{N}\p{M}]`;
/** Matches words, including those joined by punctuation, and capitals followed by a number, as in `BC 1010`. */
const tokens = new RegExp(
  String.raw`(?<!${letters})\p{Lu}{1,3} \p{N}{2,}(?!${letters})|${letters}+(?:${sign}${letters}+)*`,
  'gu',
);
const signs = new RegExp(`${sign}| `, 'u');
/** Boundaries between letters and digits. */
const seams = /(?<=\p{N})(?=\p{L})|(?<=[\p{L}\p{M}])(?=\p{N})/u;

/**
 * Returns a `tsquery` for each word; a query also matches other endings of its word. Codes such as `E-1042` also match with other
 * separators or without any; a match at the code's end counts twice. Terms contain only letters and digits, so no query has a syntax error.
 */
export function searchTerms(query: string): string[] {
  const found = new Set(withoutMarkRuns(query).normalize('NFC').match(tokens));
  const terms: string[] = [];
  const words: string[] = [];
  for (const token of found) {
    const parts = token.split(signs);
    if (isCode(token, parts)) terms.push(...codeTerms(parts));
    else words.push(...parts);
  }
  const all = [...new Set(words.map((word) => word.slice(0, maxLetters).toWellFormed()))];
  const telling = all.filter((word) => !commonWords.has(plainForm(word)));
  for (const word of telling.length > 0 || terms.length > 0 ? telling : all) terms.push(wordTerm(word));
  return terms.slice(0, maxTerms);
}

function wordTerm(word: string): string {
  return formsOf(word)
    .map((form) => `'${form}':*`)
    .join(' | ');
}

/**
 * Reports whether a token is a code: letters with digits, or digits joined by signs that do not occur in numbers and times. `IN 2026` is
 * not a code.
 */
function isCode(token: string, parts: readonly string[]): boolean {
  if (token.includes(' ') && commonWords.has(plainForm(parts[0] ?? ''))) return false;
  if (token.length > maxCode || parts.length > maxCodeParts || !/\p{N}/u.test(token)) return false;
  return parts.some((part) => seams.test(part)) || (parts.length > 1 && !/^[\p{N}.:+]+$/u.test(token));
}

function codeTerms(parts: readonly string[]): string[] {
  const joined = parts.join('');
  const pieces = parts.flatMap((part) => part.split(seams));
  const spellings = new Set([
    quoted([joined]),
    quoted(parts),
    ...(pieces.length <= maxPieces ? groupings(pieces) : [pieces]).map(quoted),
  ]);
  const prefixes = [...spellings].map((spelling) => `(${spelling}:*)`).join(' | ');
  return /\p{N}$/u.test(joined)
    ? [prefixes, [...spellings].map((spelling) => `(${spelling})`).join(' | ')]
    : [prefixes];
}

/** Returns all ways to join or separate the consecutive pieces of a code. */
function groupings([first = '', ...more]: readonly string[]): string[][] {
  if (more.length === 0) return [[first]];
  return groupings(more).flatMap(([next = '', ...rest]) => [
    [first, next, ...rest],
    [first + next, ...rest],
  ]);
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.toLowerCase()}'`).join(' <-> ');
}

/**
 * Returns the forms of a word to search for. A database with locale C lower-cases only ASCII letters, so other words may be stored with
 * their original case.
 */
function formsOf(word: string): string[] {
  const lower = word.toLowerCase();
  if (/^[a-z]+$/u.test(lower)) return [stemOf(lower)];
  if (/^\p{ASCII}+$/u.test(lower)) return [lower];
  return [...new Set([lower, word, lower.charAt(0).toUpperCase() + lower.slice(1)])];
}
