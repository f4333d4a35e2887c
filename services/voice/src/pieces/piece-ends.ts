import { sentenceEnds } from './sentence-ends.ts';

/** Minimum length of pieces after the first. It prevents a call for each of many short sentences. */
export const shortestPiece = 200;

/**
 * Returns the end offsets of the pieces of a text, including the end of the text. The first piece is one sentence, so that audio starts
 * early. Each later piece has enough sentences for `shortestPiece` characters. No piece is silent unless the whole text is silent.
 */
export function pieceEnds(text: string, languageCode: string): number[] {
  const lastSpoken = text.length - (/[^\p{L}\p{N}]*$/u.exec(text)?.[0].length ?? 0);
  const ends: number[] = [];
  let start = 0;
  for (const end of sentenceEnds(text, languageCode)) {
    if (end >= lastSpoken) break;
    const isLongEnough = ends.length === 0 || end - start >= shortestPiece;
    if (!isLongEnough || !/[\p{L}\p{N}]/u.test(text.slice(start, end))) continue;
    ends.push(end);
    start = end;
  }
  return [...ends, text.length];
}
