import { unavailable } from '@parley/kernel/errors';
import { compareParts, type EventIdParts, eventIdParts } from './event-id.ts';
import type { Entry } from './event-log.ts';
import { interruption, type Reader } from './redis-follower.ts';
import { pageSize } from './redis-stream.ts';

interface TailPosition {
  /** Entries up to this id are skipped. The id may be ahead of the stream. */
  after: EventIdParts;
  /** Whether the reader also wants existing entries, not only new ones. */
  wantsPast: boolean;
  /** Whether the stream certainly has every entry after `after`. */
  isComplete: boolean;
  signal: AbortSignal;
}

/**
 * One reader of a stream. It yields existing entries first, page by page, and then new entries from its follower. Keeps the follower until
 * the signal aborts or the iteration ends.
 */
export function tailOf(reader: Reader | undefined, position: TailPosition): AsyncGenerator<Entry[]> {
  const { signal } = position;
  const leave = () => reader?.leave();
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return batches(reader, position, leave);
}

async function* batches(
  reader: Reader | undefined,
  position: TailPosition,
  leave: () => void,
): AsyncGenerator<Entry[]> {
  if (!reader) return;
  const { after, signal } = position;
  try {
    if (position.wantsPast) yield* past(reader, position);
    while (!signal.aborted) {
      if (reader.failure) throw reader.failure;
      const batch = reader.queue.splice(0, batchLength(reader.queue));
      if (batch.length === 0) {
        await reader.next(signal);
        continue;
      }
      if (batch[0] === interruption) {
        yield [];
        continue;
      }
      const entries = batch.filter((entry) => entry !== interruption);
      const wanted = entries.filter(({ id }) => compareParts(eventIdParts(id), after) > 0);
      if (wanted.length > 0) yield wanted;
    }
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

/** Returns the length of the next batch; an interruption is a separate batch. */
function batchLength(queue: Reader['queue']): number {
  if (queue[0] === interruption) return 1;
  const next = queue.indexOf(interruption);
  return Math.min(next === -1 ? queue.length : next, pageSize);
}

/** Yields the entries between the reader's position and the beginning of the queue. */
async function* past(reader: Reader, { after, isComplete, signal }: TailPosition): AsyncGenerator<Entry[]> {
  const { joinedAt } = reader;
  let cursor = after;
  let isJoined = isComplete;
  while (compareParts(cursor, joinedAt) < 0 && !signal.aborted) {
    const found = await reader.page(cursor);
    if (signal.aborted) return;
    const wanted = found.filter(({ id }) => compareParts(eventIdParts(id), joinedAt) <= 0);
    const [first, last] = [wanted[0], wanted.at(-1)];
    if (isJoined && (!first || compareParts(eventIdParts(first.previous), cursor) > 0)) {
      throw unavailable(
        'The event log has dropped entries that this reader has not read; follow again after the last event seen',
      );
    }
    if (!first || !last) return;
    isJoined = true;
    cursor = eventIdParts(last.id);
    yield wanted.map(({ id, data }) => ({ id, data }));
  }
}
