import type { TranscriptLine } from './transcript.ts';

/**
 * An exchange: successive messages, oldest first. The next exchange begins with the next user message that follows a message of the agent.
 */
export type Exchange = TranscriptLine[];

export interface Sample {
  messages: number;
  exchanges: Exchange[];
  /** The `turnIndex` of messages with a truncated text. */
  truncated: Set<number>;
}

export const omissionMark = ' [… left out …] ';

/** Maximum number of messages in an exchange; a longer one is split. */
const maxLinesPerExchange = 10;
const firstExchanges = 2;
const lastExchanges = 4;

/**
 * Keeps a sample of about this many characters in memory. Above this size, drops every second exchange between the first and the last ones.
 */
export function sampler(characters: number): { add(lines: TranscriptLine[]): void; sample(): Sample } {
  const truncated = new Set<number>();
  let messages = 0;
  let closedExchanges = 0;
  let stride = 1;
  let size = 0;
  const first: Exchange[] = [];
  let sampled: { at: number; exchange: Exchange }[] = [];
  const recent: { at: number; exchange: Exchange }[] = [];
  let current: Exchange = [];

  function close(): void {
    if (current.length === 0) return;
    if (first.length < firstExchanges) first.push(current);
    else recent.push({ at: closedExchanges, exchange: current });
    closedExchanges += 1;
    current = [];
    const older = recent.length > lastExchanges ? recent.shift() : undefined;
    if (!older || !isSampled(older.at)) return;
    sampled.push(older);
    size += sizeOf(older.exchange);
    while (size > characters && sampled.length > 0) {
      stride *= 2;
      sampled = sampled.filter(({ at }) => isSampled(at));
      size = sampled.reduce((sum, { exchange }) => sum + sizeOf(exchange), 0);
    }
  }

  const isSampled = (at: number) => at % stride === 0;

  return {
    add(lines) {
      for (const line of lines) {
        messages += 1;
        const begins = line.role === 'USER' && current.at(-1)?.role === 'MODEL';
        if (begins || current.length === maxLinesPerExchange) close();
        const text = truncateMiddle(line.text, Math.ceil(characters / 4));
        if (text !== line.text) truncated.add(line.turnIndex);
        current.push({ ...line, text });
      }
    },
    sample() {
      close();
      return { messages, exchanges: [...first, ...[...sampled, ...recent].map(({ exchange }) => exchange)], truncated };
    },
  };
}

export function truncateMiddle(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.floor(Math.max(0, characters - omissionMark.length) / 2);
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, ''); // removes the first half of a split surrogate pair
  const tail = half === 0 ? '' : text.slice(-half).replace(/^[\udc00-\udfff]/, '');
  return `${head}${omissionMark}${tail}`;
}

function sizeOf(exchange: Exchange): number {
  return exchange.reduce((sum, { text }) => sum + text.length + 100, 0);
}
