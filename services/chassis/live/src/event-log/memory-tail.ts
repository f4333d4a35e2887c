import { unavailable } from '@parley/kernel/errors';
import type { EventIdParts } from './event-id.ts';
import { type Entry, SlowReader } from './event-log.ts';
import { indexAfter, type MemoryStream } from './memory-stream.ts';

const MAX_BATCH = 500;

interface FollowOptions {
  /** The number of the first entry to read, counted from the stream's beginning. */
  begin: number;
  /** Entries up to this id are skipped. The id may be ahead of the stream. */
  after: EventIdParts;
  maxBehind: number;
  signal: AbortSignal;
  isClosed: () => boolean;
}

/**
 * One reader of a stream. It keeps a position and no queue, because all readers share the entries of the stream. The stream is kept until
 * the signal aborts or the iteration ends.
 */
export function followStream(stream: MemoryStream, options: FollowOptions): AsyncGenerator<Entry[]> {
  const { signal } = options;
  const liveFrom = stream.dropped + stream.entries.length;
  let held = true;
  stream.readers++;
  function release() {
    if (held) stream.readers--;
    held = false;
    signal.removeEventListener('abort', release);
  }
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
  return batches(stream, options, liveFrom, release);
}

/** @param liveFrom the number of the first entry that was appended after the reader joined; `maxBehind` counts this entry and later ones */
async function* batches(
  stream: MemoryStream,
  { begin, after, maxBehind, signal, isClosed }: FollowOptions,
  liveFrom: number,
  release: () => void,
): AsyncGenerator<Entry[]> {
  let next = begin;
  try {
    while (!signal.aborted) {
      if (isClosed()) throw unavailable('The event log is closed');
      const end = stream.dropped + stream.entries.length;
      if (stream.dropped > next || end - Math.max(next, liveFrom) > maxBehind) throw new SlowReader();
      if (next === end) {
        await nextEntry(stream, signal);
        continue;
      }
      const first = next - stream.dropped;
      const batch = stream.entries.slice(first, first + MAX_BATCH);
      next += batch.length;
      const wanted = batch.slice(indexAfter(batch, after));
      if (wanted.length > 0) yield wanted;
    }
  } finally {
    release();
  }
}

/** Resolves at the next append, when the log closes, or when the signal aborts. */
function nextEntry(stream: MemoryStream, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function wake() {
      stream.waiting.delete(wake);
      signal.removeEventListener('abort', wake);
      resolve();
    }
    stream.waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
  });
}
