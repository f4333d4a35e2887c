import { lastTokens, passageTokens } from './passage-tokens.ts';
import { type Passage, passages, strengths } from './passages.ts';

export interface Chunk {
  content: string;
  /** The headings above the chunk, outermost first, joined by ` > `; empty if there are none. */
  heading: string;
  /** The page that the chunk begins on, from 1; null where the document has no pages. */
  page: number | null;
}

/** A chunk that is not yielded yet: its passages, and the text repeated from the previous chunk. */
interface Cut {
  passages: Passage[];
  repeated: string;
}

export const chunkTokens = 800;
/** The share of a chunk that is repeated from the previous chunk. */
const overlapShare = 1 / 8;
/** If a chunk has reached this share of its size, a heading begins a new chunk. Shorter sections share a chunk. */
const sectionShare = 1 / 4;
/** If the last chunk of a table has fewer rows than this share of a chunk, it gets rows of the previous chunk. */
const lastRowsShare = 1 / 4;

const passageWork = 20;
const maxWorkAtOnce = 20_000;

/**
 * Splits a text into chunks of about `maxTokens` tokens. A chunk repeats the last eighth of the previous one, unless it begins with a
 * heading. A chunk that continues a table repeats the table's header row instead. Takes linear time; yields undefined every few
 * milliseconds, so that other work may run.
 * @param pageStarts where pages begin in the text, in UTF-16 code units, ascending
 */
export function* chunkText(
  text: string,
  pageStarts: readonly number[] = [],
  maxTokens = chunkTokens,
): Generator<Chunk | undefined> {
  const overlapTokens = Math.floor(maxTokens * overlapShare);
  const sectionTokens = Math.floor(maxTokens * sectionShare);
  const pageAt = pageCounter(pageStarts);
  let pending: Passage[] = [];
  let repeated = '';
  let tokens = 0;
  let work = 0;
  /** A chunk with part of a table, held back because the next chunk may end the table. */
  let held: Cut | undefined;

  /** Cuts off the first `count` passages and yields the chunks that are complete. A part of a table waits for the next chunk. */
  function* cut(count: number, next: Passage | undefined): Generator<Chunk> {
    const cutOff: Cut = { passages: pending.slice(0, count), repeated };
    pending = pending.slice(count);
    const [before, last] = held ? evened(held, cutOff, maxTokens) : [undefined, cutOff];
    if (before) yield* chunkOf(before);
    const following = pending[0] ?? next;
    const isPartOfTable = following?.table !== undefined && following.table === last.passages.at(-1)?.table;
    held = isPartOfTable ? last : undefined;
    if (!held) yield* chunkOf(last);
    repeated = repeatedBefore(following, last.passages.at(-1), joined(last.passages), overlapTokens);
    tokens = tokensOf(pending) + passageTokens(repeated);
  }

  function* chunkOf({ passages: [first, ...more], repeated: before }: Cut): Generator<Chunk> {
    const all = first ? [first, ...more] : [];
    const body = joined(all);
    if (!first || body.trim() === '') return;
    const between = before === '' ? '' : first.table ? '\n' : separator(first);
    const content = (before + between + body).trim();
    const { heading } = all.find(({ isHeading }) => !isHeading) ?? all.at(-1) ?? first;
    yield { content, heading, page: pageAt(first.start) };
  }

  for (const passage of passages(text, maxTokens - overlapTokens)) {
    work += passage.tokens + passageWork;
    if (work > maxWorkAtOnce) {
      work = 0;
      yield undefined;
    }
    const beginsSection = passage.isHeading && tokens >= sectionTokens;
    const tokensBefore = beginsSection ? 0 : maxTokens - passage.tokens;
    while (pending.length > 0 && tokens > tokensBefore) {
      yield* cut(beginsSection ? pending.length : bestCut(pending, passage, maxTokens / 2), passage);
    }
    pending.push(passage);
    tokens += passage.tokens;
  }
  yield* cut(pending.length, undefined);
}

/**
 * Returns how many passages the next chunk gets. The chunk is cut at the strongest break after `minTokens`; if several breaks are equally
 * strong, at the last of them.
 */
function bestCut(pending: readonly Passage[], next: Passage, minTokens: number): number {
  let best = pending.length;
  let strength = next.strength;
  let after = tokensOf(pending);
  for (let at = pending.length - 1; at > 0; at -= 1) {
    const passage = pending[at] as Passage;
    after -= passage.tokens;
    if (after < minTokens) break;
    if (passage.strength <= strength) continue;
    best = at;
    strength = passage.strength;
  }
  return best;
}

/** Moves rows from the end of a chunk to the next chunk, if the next one has few rows of the same table. */
function evened(before: Cut, last: Cut, maxTokens: number): [Cut, Cut] {
  const table = last.passages[0]?.table;
  const foreign = last.passages.findIndex((passage) => passage.table !== table);
  let rows = tokensOf(foreign < 0 ? last.passages : last.passages.slice(0, foreign));
  if (rows >= maxTokens * lastRowsShare) return [before, last];
  const half = (tokensOf(before.passages) + rows) / 2;
  let room = maxTokens - passageTokens(last.repeated) - tokensOf(last.passages);
  let moved = before.passages.length;
  for (; moved > 1 && rows < half; moved -= 1) {
    const row = before.passages[moved - 1];
    if (row?.table !== table || !row || row.tokens > room) break;
    rows += row.tokens;
    room -= row.tokens;
  }
  const [kept, given] = [before.passages.slice(0, moved), before.passages.slice(moved)];
  return [
    { ...before, passages: kept },
    { ...last, passages: [...given, ...last.passages] },
  ];
}

function repeatedBefore(
  first: Passage | undefined,
  last: Passage | undefined,
  body: string,
  overlapTokens: number,
): string {
  if (!first || first.isHeading) return '';
  if (first.table) return first.table.header;
  return last?.table ? '' : tailOf(body, overlapTokens);
}

/** Returns up to `overlapTokens` from the end of a chunk, starting at a sentence if possible, else at a word. */
function tailOf(body: string, overlapTokens: number): string {
  const tail = lastTokens(body, overlapTokens);
  if (tail.length === body.length) return '';
  const sentence = /[.!?…]["')\]]*\s+|[。！？]|\n/u.exec(tail);
  const isLongEnough = sentence && sentence.index < tail.length / 2;
  if (isLongEnough) return tail.slice(sentence.index + sentence[0].length);
  const space = tail.search(/\s/u);
  return space >= 0 && space < tail.length / 2 ? tail.slice(space + 1) : tail;
}

function tokensOf(some: readonly Passage[]): number {
  return some.reduce((sum, { tokens }) => sum + tokens, 0);
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
