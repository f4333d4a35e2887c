import { beginning, compareParts, type EventIdParts, eventIdParts } from './event-id.ts';
import type { Entry } from './event-log.ts';

/** One stream in memory. Its readers have positions in it, not copies. */
export interface MemoryStream {
  entries: Entry[];
  /** How many entries were dropped from the front: `entries[0]` is number `dropped` of the stream. */
  dropped: number;
  /** The log has every entry after this id. Undefined while the stream is unknown. */
  horizon: EventIdParts | undefined;
  /** How many readers follow the stream, which keep it from being deleted. */
  readers: number;
  /** Readers that wait for the next entry. */
  waiting: Set<() => void>;
}

/** The newest id that the stream knows of. */
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

/** The index of the first entry after `id`, by binary search. */
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
