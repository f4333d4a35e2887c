import { sentenceEnds } from './sentence-ends.ts';

/** Pieces behind the first have at least so many characters, so that many short sentences do not become as many calls. */
export const shortestPiece = 200;

/**
 * Where the pieces of a text end, the end of the text included. The first piece is one sentence, so that its audio is there early;
 * the others are as many sentences as have `shortestPiece` characters together. Each has something to say, unless the text has nothing.
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
