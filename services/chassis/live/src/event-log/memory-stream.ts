import { beginning, compareParts, type EventIdParts, eventIdParts } from './event-id.ts';
import type { Entry } from './event-log.ts';

/** One stream in memory. Its readers keep positions in the stream, not copies. */
export interface MemoryStream {
  entries: Entry[];
  /** Number of entries dropped from the front: `entries[0]` is entry number `dropped` of the stream. */
  dropped: number;
  /** The log has every entry after this id. Undefined while the stream is unknown. */
  horizon: EventIdParts | undefined;
  /** Number of readers that follow the stream. A stream with readers is not deleted. */
  readers: number;
  /** Readers that wait for the next entry. */
  waiting: Set<() => void>;
}

/** Returns the newest id that the stream knows. */
export function newestId({ entries, horizon }: MemoryStream): EventIdParts {
  const entry = entries.at(-1);
  return entry ? eventIdParts(entry.id) : (horizon ?? beginning);
}

/** Drops the oldest `count` entries and returns them. */
export function dropOldest(stream: MemoryStream, count: number): Entry[] {
  const dropped = stream.entries.splice(0, count);
  const newest = dropped.at(-1);
  if (newest) {
    stream.dropped += dropped.length;
    stream.horizon = eventIdParts(newest.id);
  }
  return dropped;
}

export function wakeReaders(stream: MemoryStream): void {
  for (const wake of stream.waiting) wake();
}

/** Returns the index of the first entry after `id`, by binary search. */
export function indexAfter(entries: Entry[], id: EventIdParts): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry && compareParts(eventIdParts(entry.id), id) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
