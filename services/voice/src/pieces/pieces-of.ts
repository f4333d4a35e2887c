import type { Utterance } from '../speech.ts';
import { pieceEnds } from './piece-ends.ts';
import { piecesOfSsml } from './pieces-of-ssml.ts';

/** Splits a text or SSML into pieces that are synthesized one by one and together give the same speech. */
export function piecesOf(utterance: Utterance, languageCode: string): Utterance[] {
  if ('ssml' in utterance) return piecesOfSsml(utterance.ssml, languageCode).map((ssml) => ({ ssml }));
  const { text } = utterance;
  const ends = pieceEnds(text, languageCode);
  return ends.map((end, i) => ({ text: text.slice(ends[i - 1] ?? 0, end) }));
}
