import { commonWords } from './common-words.ts';
import { emptyHash, hashOf, hashStep, mixed } from './hash.ts';

export interface WeightedWord {
  text: string;
  weight: number;
}

export interface Features {
  words: WeightedWord[];
  /** Hashes of all runs of one to three characters, for Hangul and for scripts without spaces. */
  pieces: { hash: number; weight: number }[];
}

/** Maximum length of a text in UTF-16 code units; the rest is ignored. */
const maxUnits = 100_000;
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
/** Hangul has spaces, but not between all units of meaning, so its words count both as words and by their pieces. */
const hangul = /\p{sc=Hangul}+/gu;
const runs =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{M}]+|[\p{L}\p{N}\p{M}]+/gu;

/** Part numbers and similar codes, which also count as one word without their signs: `e-1042` also counts as `e1042`. */
const codes = /(?<![\p{L}\p{N}\p{M}])[\p{L}\p{N}\p{M}]+(?:[-_./‐‑–][\p{L}\p{N}\p{M}]+)+/gu;
const codeSigns = /[-_./‐‑–]/gu;
const maxCode = 40;

/** Returns the text in lower case and in one Unicode form, without accents. */
export function plainForm(text: string): string {
  const lower = withoutMarkRuns(text.slice(0, maxUnits)).normalize('NFKC').toLowerCase();
  return lower
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/gu, '')
    .normalize('NFC');
}

/**
 * Truncates runs of combining marks, because normalizing them takes quadratic time. No language uses 30 in a row (Unicode's stream-safe
 * text format, UAX #15).
 */
export function withoutMarkRuns(text: string): string {
  return text.replaceAll(/(\p{M}{30})\p{M}+/gu, '$1');
}

export function featuresOf(text: string): Features {
  const words = new Map<string, number>();
  const pieces = pieceWeights.map(() => new Map<number, number>());
  const plain = plainForm(text);
  for (const [code] of plain.matchAll(codes)) {
    if (code.length <= maxCode && /\p{N}/u.test(code) && !/^[\p{N}.]+$/u.test(code))
      increment(words, code.replaceAll(codeSigns, ''));
  }
  for (const [run] of plain.matchAll(runs)) {
    if (unspaced.test(run)) countPieces(pieces, run);
    else {
      increment(words, run);
      for (const [part] of run.matchAll(hangul)) countPieces(pieces, part);
    }
  }
  return {
    words: [...words].map(([word, times]) => ({ text: word, weight: wordWeight(word) * often(times) })),
    pieces: pieces.flatMap((ofLength, at) =>
      [...ofLength].map(([hash, times]) => ({ hash, weight: pieceWeight(hash, at) * often(times) })),
    ),
  };
}

const often = (times: number) => 1 + Math.log(times);

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function countPieces(pieces: readonly Map<number, number>[], run: string): void {
  for (let start = 0; start < run.length; start += 1) {
    let hash = emptyHash;
    for (const [at, counts] of pieces.entries()) {
      if (start + at >= run.length) break;
      hash = hashStep(hash, run.charCodeAt(start + at));
      increment(counts, mixed(hash));
    }
  }
}

const commonWeight = 0.1;
const pieceWeights = [0.4, 1, 0.8];
const commonPieces = new Set([...commonWords].filter((word) => unspaced.test(word)).map(hashOf));

function pieceWeight(hash: number, at: number): number {
  return commonPieces.has(hash) ? commonWeight : (pieceWeights[at] ?? 1);
}

function wordWeight(word: string): number {
  if (commonWords.has(word)) return commonWeight;
  return word.length === 1 ? 0.3 : word.length === 2 ? 0.6 : 1;
}

const endings = [
  'ations',
  'ation',
  'ments',
  'ment',
  'ingly',
  'ings',
  'ing',
  'edly',
  'ies',
  'ied',
  'ers',
  'er',
  'es',
  'ed',
  'ly',
  's',
  'e',
  'y',
];
const minStemLength = 3;

/** Returns the word without its English ending. Inflected words of other languages match by their n-grams. */
export function stemOf(word: string): string {
  if (!/^[a-z]{4,}$/u.test(word)) return word;
  const ending = endings.find((each) => word.endsWith(each) && word.length - each.length >= minStemLength);
  if (ending === undefined) return word;
  const stem = word.slice(0, -ending.length);
  return stem.length > minStemLength && stem.at(-1) === stem.at(-2) ? stem.slice(0, -1) : stem;
}
