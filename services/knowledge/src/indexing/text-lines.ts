import { quartersAt, quarterTokens, unitsAt } from './passage-tokens.ts';

/** A line or a part of a line, without white space at the line's end. */
export interface Line {
  text: string;
  /** Offset in the whole text, in UTF-16 code units. */
  start: number;
}

export interface LineAhead {
  line: Line;
  next: Line | undefined;
  afterNext: Line | undefined;
}

export function* linesAhead(text: string): Generator<LineAhead> {
  const lines = linesOf(text);
  const take = () => lines.next().value as Line | undefined;
  let [line, next, afterNext] = [take(), take(), take()];
  while (line) {
    yield { line, next, afterNext };
    [line, next, afterNext] = [next, afterNext, take()];
  }
}

/** Any number of blank lines counts as one. */
const blankLines = /\n+/uy;

function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    yield { text: text.slice(start, end).trimEnd(), start };
    blankLines.lastIndex = end + 1;
    start = end + 1 + (blankLines.exec(text)?.[0].length ?? 0);
    if (start > end + 1) yield { text: '', start: end + 1 };
  }
}

const enders = new Set('.!?…');
const wideEnders = new Set('。！？');
const closers = new Set('"\')]”’»」』）');

/**
 * Splits a line into parts of at most `maxQuarters` quarters of a token (`quarterTokens`). Splits at sentences, which keep the white space
 * after them. A sentence that is too long is split at its last word that fits, or anywhere if it has no such word.
 */
export function* splitLine({ text, start }: Line, maxQuarters: number, atSentences: boolean): Generator<Line> {
  let from = 0;
  let size = 0;
  let wordAt = 0;
  let ended: 'no' | 'if white space follows' | 'yes' = 'no';
  const part = (to: number): Line => {
    const line = { text: text.slice(from, to), start: start + from };
    from = to;
    return line;
  };

  for (let at = 0; at < text.length; ) {
    const char = text.charAt(at);
    const isSpace = char.trim() === '';
    if (ended === 'yes' && !isSpace && !closers.has(char)) {
      yield part(at);
      [size, ended] = [0, 'no'];
    }
    const quarters = quartersAt(text, at);
    if (size + quarters > maxQuarters && at > from) {
      yield part(wordAt - from > (at - from) / 2 ? wordAt : at);
      size = quarterTokens(text.slice(from, at));
    }
    if (wideEnders.has(char)) ended = atSentences ? 'yes' : 'no';
    else if (enders.has(char)) ended = atSentences ? 'if white space follows' : 'no';
    else if (isSpace) ended = ended === 'no' ? 'no' : 'yes';
    else if (!closers.has(char)) ended = 'no';
    at += unitsAt(text, at);
    size += quarters;
    if (isSpace) wordAt = at;
  }
  if (from < text.length) yield part(text.length);
}
