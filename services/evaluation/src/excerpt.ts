import type { TokenBound } from '@parley/text/token-bound';
import { clipped, type Exchange, type Sample } from './sample.ts';
import type { TranscriptLine } from './transcript.ts';

/** What a judge is shown of a conversation. */
export interface Excerpt {
  /** How many messages the conversation has. */
  messages: number;
  /** Those that are shown, oldest first. */
  lines: TranscriptLine[];
  /** How many of them lack their middle. */
  cut: number;
}

export function isWhole({ messages, lines, cut }: Excerpt): boolean {
  return lines.length === messages && cut === 0;
}

/** Long messages lose their middle down to so many tokens before any message is left out. */
const leastOfMessage = 200;

/** What says that messages were left out takes at most so much. */
const tokensPerGap = 20;

/**
 * Says what of a conversation fits into so many tokens: all of it, else all messages with the longest ones cut, else exchanges that
 * are spread evenly from the first to the last.
 */
export function condenser(sample: Sample, tokens: TokenBound): (room: number) => Excerpt {
  const sizeOf = (line: TranscriptLine) => tokens(shownLine(line)) + 1;
  const all = sample.exchanges.flat();
  const uncut = new Set(all.filter(({ turnIndex }) => !sample.cut.has(turnIndex)));
  const sizes = all.map(sizeOf).toSorted((a, b) => a - b);
  const gaps = all.length < sample.messages ? tokensPerGap * sample.exchanges.length : 0;
  const excerptOf = (lines: TranscriptLine[]): Excerpt => ({
    messages: sample.messages,
    lines,
    cut: lines.filter((line) => !uncut.has(line)).length,
  });
  let shortened: { exchange: Exchange; size: number }[] | undefined;
  const inShort = () =>
    (shortened ??= sample.exchanges.map((long) => {
      const exchange = long.map((line) => fitted(line, leastOfMessage, sizeOf));
      return { exchange, size: exchange.reduce((sum, line) => sum + sizeOf(line), tokensPerGap) };
    }));

  return (room) => {
    const cap = capFor(sizes, room - gaps);
    if (cap >= leastOfMessage) return excerptOf(all.map((line) => fitted(line, cap, sizeOf)));
    const short = inShort();
    for (let count = short.length; count > 1; count -= Math.max(1, Math.floor(count / 50))) {
      const chosen = spread(short, count);
      if (chosen.reduce((sum, { size }) => sum + size, 0) > room) continue;
      return excerptOf(chosen.flatMap(({ exchange }) => exchange));
    }
    return excerptOf(restOf(short.at(-1)?.exchange ?? [], room - tokensPerGap, sizeOf));
  };
}

/** A message as the judge reads it. */
export function shownLine({ role, text, turnIndex }: TranscriptLine): string {
  return JSON.stringify({ turnIndex, role, text });
}

/** The largest size to which the larger ones are cut for all of them to fit; Infinity where they do. */
function capFor(ascending: number[], room: number): number {
  let left = room;
  for (const [at, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - at));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** The line itself where it takes no more than that, else without as much of its middle as it must lose; perhaps all. */
function fitted(line: TranscriptLine, most: number, sizeOf: (line: TranscriptLine) => number): TranscriptLine {
  let size = sizeOf(line);
  let shown = line;
  for (let characters = line.text.length; size > most && characters > 0; size = sizeOf(shown)) {
    characters = Math.floor(characters * Math.min(0.9, most / size));
    shown = { ...line, text: clipped(line.text, characters) };
  }
  return shown;
}

/** So many of them, evenly spread from the first to the last. */
function spread<T>(from: T[], count: number): T[] {
  const step = (from.length - 1) / (count - 1);
  const places = Array.from({ length: count }, (_, at) => Math.round(at * step));
  return places.flatMap((place) => from.slice(place, place + 1));
}

/** The newest lines of an exchange that is too large by itself. */
function restOf(exchange: Exchange, room: number, sizeOf: (line: TranscriptLine) => number): TranscriptLine[] {
  const lines: TranscriptLine[] = [];
  let left = room;
  for (const line of exchange.toReversed()) {
    const short = fitted(line, left, sizeOf);
    if (sizeOf(short) > left) break;
    lines.unshift(short);
    left -= sizeOf(short);
  }
  return lines;
}
