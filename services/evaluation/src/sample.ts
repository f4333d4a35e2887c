import type { TranscriptLine } from './transcript.ts';

/** What is said until the agent has answered and the person speaks again, oldest first. */
export type Exchange = TranscriptLine[];

/** A conversation, or, of a very long one, exchanges that are spread evenly over it. */
export interface Sample {
  /** How many messages the conversation has. */
  messages: number;
  /** Oldest first. */
  exchanges: Exchange[];
  /** The `turnIndex` of those whose text was cut. */
  cut: Set<number>;
}

/** What stands in a text for what was left out of its middle. */
export const leftOut = ' [… left out …] ';

/** Many messages in a row of one side are cut into several. */
const maxLines = 10;
/** Kept whatever happens: how it began, and how it ended. */
const firstExchanges = 2;
const lastExchanges = 4;

/**
 * Takes up a conversation of any length as it comes, in about `characters` of memory: whenever there is more, every other exchange
 * between the first and the last ones goes.
 */
export function sampler(characters: number): { add(lines: TranscriptLine[]): void; sample(): Sample } {
  const cut = new Set<number>();
  let messages = 0;
  let closed = 0; // exchanges so far
  let stride = 1;
  let size = 0;
  const first: Exchange[] = [];
  let kept: { at: number; exchange: Exchange }[] = [];
  const recent: { at: number; exchange: Exchange }[] = [];
  let current: Exchange = [];

  function close(): void {
    if (current.length === 0) return;
    if (first.length < firstExchanges) first.push(current);
    else recent.push({ at: closed, exchange: current });
    closed += 1;
    current = [];
    const older = recent.length > lastExchanges ? recent.shift() : undefined;
    if (!older || !stays(older.at)) return;
    kept.push(older);
    size += sizeOf(older.exchange);
    while (size > characters && kept.length > 0) {
      stride *= 2;
      kept = kept.filter(({ at }) => stays(at));
      size = kept.reduce((sum, { exchange }) => sum + sizeOf(exchange), 0);
    }
  }

  const stays = (at: number) => at % stride === 0;

  return {
    add(lines) {
      for (const line of lines) {
        messages += 1;
        const begins = line.role === 'USER' && current.at(-1)?.role === 'MODEL';
        if (begins || current.length === maxLines) close();
        const text = clipped(line.text, Math.ceil(characters / 4));
        if (text !== line.text) cut.add(line.turnIndex);
        current.push({ ...line, text });
      }
    },
    sample() {
      close();
      return { messages, exchanges: [...first, ...[...kept, ...recent].map(({ exchange }) => exchange)], cut };
    },
  };
}

/** A text without its middle where it has more characters than that, about. */
export function clipped(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.floor(Math.max(0, characters - leftOut.length) / 2);
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, ''); // not half a character
  const tail = half === 0 ? '' : text.slice(-half).replace(/^[\udc00-\udfff]/, '');
  return `${head}${leftOut}${tail}`;
}

function sizeOf(exchange: Exchange): number {
  return exchange.reduce((sum, { text }) => sum + text.length + 100, 0);
}
