/** Abbreviations after which a full stop seldom ends a sentence. */
const abbreviated = /(?:^|[\s(])(?:\p{Lu}|Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|e\.g|i\.e|cf|z\.B|bzw|Nr)\.\s*$/u;
/** A longer sentence is split at the end of a clause, or else between words. */
const longestSentence = 400;
const clauseEnd = /(?:[,;:–—]\s|[，、；：])(?![\s\S]*(?:[,;:–—]\s|[，、；：]))/u;
const lastSpace = /\s(?!.*\s)/su;

/** Returns the end offsets of the sentences of a text, including the end of the text. */
export function sentenceEnds(text: string, languageCode: string): number[] {
  const ends: number[] = [];
  let start = 0;
  for (const { index, segment } of segmenter(languageCode).segment(text)) {
    const end = index + segment.length;
    if (end < text.length && abbreviated.test(text.slice(Math.max(start, end - 12), end))) continue;
    ends.push(...clauseEnds(text, start, end), end);
    start = end;
  }
  return ends;
}

/** Returns the offsets at which a sentence that is too long is split. */
function clauseEnds(text: string, start: number, end: number): number[] {
  const cuts: number[] = [];
  let from = start;
  while (end - from > longestSentence) {
    const part = text.slice(from, from + longestSentence);
    const match = clauseEnd.exec(part) ?? lastSpace.exec(part);
    if (!match) break;
    from += match.index + match[0].length;
    cuts.push(from);
  }
  return cuts;
}

function segmenter(languageCode: string): Intl.Segmenter {
  try {
    return new Intl.Segmenter(languageCode.replaceAll('_', '-'), { granularity: 'sentence' });
  } catch {
    return new Intl.Segmenter('en', { granularity: 'sentence' });
  }
}
