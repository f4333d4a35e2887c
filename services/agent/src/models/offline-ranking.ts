import type { Word } from './offline-text.ts';

export const ASKED =
  /[?？؟]\s*$|^\W*(?:who|what|when|where|why|which|how|can|could|do|does|did|is|are|should|would|will)\b/iu;

/** Returns the weight of a term: the fewer candidates contain the term, the higher its weight. */
export function inverseDocumentFrequency(candidates: readonly { terms: string[] }[]): (term: string) => number {
  const holders = new Map<string, number>();
  for (const { terms } of candidates) {
    for (const term of new Set(terms)) holders.set(term, (holders.get(term) ?? 0) + 1);
  }
  return (term) => Math.log(1 + candidates.length / (holders.get(term) ?? candidates.length + 1));
}

export function uniqueTerms(words: Word[]): Word[] {
  return [...new Map(words.map((word) => [word.term, word])).values()];
}
