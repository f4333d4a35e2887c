import type { TokenBound } from '@parley/text/token-bound';
import { type Exchange, type Sample, truncateMiddle } from './sample.ts';
import type { TranscriptLine } from './transcript.ts';

export interface Excerpt {
  /** Number of messages in the whole conversation. */
  messages: number;
  lines: TranscriptLine[];
  truncated: number;
}

export function isWhole({ messages, lines, truncated }: Excerpt): boolean {
  return lines.length === messages && truncated === 0;
}

type SizeOf = (line: TranscriptLine) => number;

/** Messages are truncated to this many tokens before any is omitted. */
const minMessageTokens = 200;

const tokensPerGap = 20;

/**
 * Makes excerpts for a token limit: the whole conversation if it fits, or the conversation with its longest messages truncated if that
 * fits, or else exchanges spread evenly over the conversation.
 */
export function excerptFitter(sample: Sample, countTokens: TokenBound): (maxTokens: number) => Excerpt {
  const sizeOf: SizeOf = (line) => countTokens(promptLine(line)) + 1;
  const all = sample.exchanges.flat();
  const untruncated = new Set(all.filter(({ turnIndex }) => !sample.truncated.has(turnIndex)));
  const sizes = all.map(sizeOf).toSorted((a, b) => a - b);
  const gapTokens = all.length < sample.messages ? tokensPerGap * sample.exchanges.length : 0;
  const excerptOf = (lines: TranscriptLine[]): Excerpt => ({
    messages: sample.messages,
    lines,
    truncated: lines.filter((line) => !untruncated.has(line)).length,
  });
  let shortExchanges: { exchange: Exchange; size: number }[] | undefined;
  const truncatedExchanges = () =>
    (shortExchanges ??= sample.exchanges.map((long) => {
      const exchange = long.map((line) => truncateLine(line, minMessageTokens, sizeOf));
      return { exchange, size: exchange.reduce((sum, line) => sum + sizeOf(line), tokensPerGap) };
    }));

  return (maxTokens) => {
    const maxSize = maxSizeFor(sizes, maxTokens - gapTokens);
    if (maxSize >= minMessageTokens) return excerptOf(all.map((line) => truncateLine(line, maxSize, sizeOf)));
    const short = truncatedExchanges();
    for (let count = short.length; count > 1; count -= Math.max(1, Math.floor(count / 50))) {
      const chosen = evenlySpaced(short, count);
      if (chosen.reduce((sum, { size }) => sum + size, 0) > maxTokens) continue;
      return excerptOf(chosen.flatMap(({ exchange }) => exchange));
    }
    return excerptOf(newestLines(short.at(-1)?.exchange ?? [], maxTokens - tokensPerGap, sizeOf));
  };
}

export function promptLine({ role, text, turnIndex }: TranscriptLine): string {
  return JSON.stringify({ turnIndex, role, text });
}

/** Returns the size to which longer messages must be truncated so that all messages fit; Infinity if they already fit. */
function maxSizeFor(ascending: number[], maxTokens: number): number {
  let remaining = maxTokens;
  for (const [at, size] of ascending.entries()) {
    const share = Math.floor(remaining / (ascending.length - at));
    if (size > share) return share;
    remaining -= size;
  }
  return Number.POSITIVE_INFINITY;
}

function truncateLine(line: TranscriptLine, maxLineTokens: number, sizeOf: SizeOf): TranscriptLine {
  let size = sizeOf(line);
  let shown = line;
  for (let characters = line.text.length; size > maxLineTokens && characters > 0; size = sizeOf(shown)) {
    characters = Math.floor(characters * Math.min(0.9, maxLineTokens / size));
    shown = { ...line, text: truncateMiddle(line.text, characters) };
  }
  return shown;
}

function evenlySpaced<T>(from: T[], count: number): T[] {
  const step = (from.length - 1) / (count - 1);
  const places = Array.from({ length: count }, (_, at) => Math.round(at * step));
  return places.flatMap((place) => from.slice(place, place + 1));
}

/** Returns the newest lines of an exchange that is too large for the limit by itself. */
function newestLines(exchange: Exchange, maxTokens: number, sizeOf: SizeOf): TranscriptLine[] {
  const lines: TranscriptLine[] = [];
  let remaining = maxTokens;
  for (const line of exchange.toReversed()) {
    const short = truncateLine(line, remaining, sizeOf);
    if (sizeOf(short) > remaining) break;
    lines.unshift(short);
    remaining -= sizeOf(short);
  }
  return lines;
}
