import { estimateTokens } from '@parley/text/token-estimate';
import { type Passage, passages, strengths } from './passages.ts';

export interface Chunk {
  content: string;
  /** The headings that it stands under, outermost first, joined by ` > `; empty without any. */
  heading: string;
  /** The page that it begins on, from 1; null where the document has no pages. */
  page: number | null;
}

export const chunkTokens = 800;
const overlapTokens = 100;
/** A heading begins a new chunk once the one before has so many: shorter sections share one. */
const sectionTokens = 200;
/** A chunk is cut at the best place behind so many. */
const leastTokens = chunkTokens / 2;

const passageWork = 20;
const workOfTurn = 20_000;

/**
 * Chunks of about 800 tokens. Each repeats the last 100 of the one before, unless it begins with a heading or continues a table, whose header
 * row it repeats instead. Takes linear time; yields undefined every few milliseconds, so that other work may run.
 * @param pageStarts where pages begin in the text, in UTF-16 code units, ascending
 */
export function* chunkText(text: string, pageStarts: readonly number[] = []): Generator<Chunk | undefined> {
  const pageAt = pageCounter(pageStarts);
  let pending: Passage[] = [];
  let repeated = '';
  let tokens = 0;
  let work = 0;

  function cut(count: number, next: Passage | undefined): Chunk | undefined {
    const cutOff = pending.slice(0, count);
    pending = pending.slice(count);
    const body = joined(cutOff);
    const chunk = chunkOf(cutOff, repeated, body);
    repeated = repeatedBefore(pending[0] ?? next, cutOff.at(-1), body);
    tokens = pending.reduce((sum, passage) => sum + passage.tokens, estimateTokens(repeated));
    return chunk;
  }

  function chunkOf(cutOff: readonly Passage[], before: string, body: string): Chunk | undefined {
    const [first] = cutOff;
    if (!first || body.trim() === '') return undefined;
    const between = before === '' ? '' : first.table ? '\n' : separator(first);
    const content = (before + between + body).trim();
    const { heading } = cutOff.find(({ isHeading }) => !isHeading) ?? cutOff.at(-1) ?? first;
    return { content, heading, page: pageAt(first.start) };
  }

  for (const passage of passages(text, chunkTokens - overlapTokens)) {
    work += passage.tokens + passageWork;
    if (work > workOfTurn) {
      work = 0;
      yield undefined;
    }
    const beginsSection = passage.isHeading && tokens >= sectionTokens;
    const tokensBefore = beginsSection ? 0 : chunkTokens - passage.tokens;
    while (pending.length > 0 && tokens > tokensBefore) {
      yield cut(beginsSection ? pending.length : bestCut(pending, passage), passage);
    }
    pending.push(passage);
    tokens += passage.tokens;
  }
  yield cut(pending.length, undefined);
}

/** How many passages to cut off: up to the last of the strongest breaks behind `leastTokens`. */
function bestCut(pending: readonly Passage[], next: Passage): number {
  let best = pending.length;
  let strength = next.strength;
  let after = pending.reduce((sum, { tokens }) => sum + tokens, 0);
  for (let at = pending.length - 1; at > 0; at -= 1) {
    const passage = pending[at] as Passage;
    after -= passage.tokens;
    if (after < leastTokens) break;
    if (passage.strength <= strength) continue;
    best = at;
    strength = passage.strength;
  }
  return best;
}

function repeatedBefore(first: Passage | undefined, last: Passage | undefined, body: string): string {
  if (!first || first.isHeading) return '';
  if (first.table) return first.table.header;
  return last?.table ? '' : tailOf(body);
}

/** The last 100 tokens, or less: from the beginning of a sentence, else of a word, else as they are. */
function tailOf(body: string): string {
  const units = body.slice(-8 * overlapTokens);
  const tail = Array.from(units.toWellFormed())
    .slice(-4 * overlapTokens)
    .join('');
  if (tail.length === body.length) return '';
  const sentence = /[.!?…]["')\]]*\s+|[。！？]|\n/u.exec(tail);
  const isLongEnough = sentence && sentence.index < tail.length / 2;
  if (isLongEnough) return tail.slice(sentence.index + sentence[0].length);
  const space = tail.search(/\s/u);
  return space >= 0 && space < tail.length / 2 ? tail.slice(space + 1) : tail;
}

function joined(cutOff: readonly Passage[]): string {
  return cutOff.map((passage, n) => (n === 0 ? passage.text : separator(passage) + passage.text)).join('');
}

function separator({ strength }: Passage): string {
  if (strength <= strengths.sentence) return '';
  return strength === strengths.line ? '\n' : '\n\n';
}

function pageCounter(pageStarts: readonly number[]): (place: number) => number | null {
  let page = 1;
  return (place) => {
    while ((pageStarts[page] ?? Number.POSITIVE_INFINITY) <= place) page += 1;
    return pageStarts.length === 0 ? null : page;
  };
}
