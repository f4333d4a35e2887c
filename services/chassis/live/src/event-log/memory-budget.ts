import { dropOldest, type MemoryStream } from './memory-stream.ts';

/** Measured overhead of an entry in bytes, including its id and the state that readers keep for the entry. */
const entryBytes = 800;

/** The fraction of the maximum to which a full log is reduced, so that it does not drop entries at every append. */
const keptFraction = 0.9;

/** The record of one append to a stream. `end` is the number of the entry that follows the append in the stream. */
interface Append {
  stream: MemoryStream;
  end: number;
  bytes: number;
}

/** Limits the total memory of all streams of a log to `maxBytes`. The overhead of entries is included. */
export function memoryBudget(maxBytes: number) {
  // The appends in order of time. Appends before the index `first` have been dropped.
  let appends: Append[] = [];
  let first = 0;
  let used = 0;

  /** Drops the oldest `count` entries of a stream. */
  function drop(stream: MemoryStream, count: number): void {
    used -= sizeOf(dropOldest(stream, count));
  }

  /** Drops the oldest appends until the log is small enough, but never the last append. */
  function dropOldestAppends(): void {
    const ends = new Map<MemoryStream, number>();
    let excess = used - maxBytes * keptFraction;
    for (; excess > 0 && first < appends.length - 1; first++) {
      const { stream, end, bytes } = appends[first] as Append;
      if (end <= stream.dropped) continue;
      ends.set(stream, end);
      excess -= bytes;
    }
    for (const [stream, end] of ends) drop(stream, end - stream.dropped);
  }

  /** Removes the records of appends whose entries were dropped because they were too old. */
  function removeDropped(): void {
    for (let oldest = appends[first]; oldest && oldest.end <= oldest.stream.dropped; oldest = appends[first]) first++;
    if (first < 1_000 || first < appends.length / 2) return;
    appends = appends.slice(first);
    first = 0;
  }

  return {
    drop,
    /** Counts entries that were appended to a stream. Above the limit, drops the oldest entries of all streams. */
    added(stream: MemoryStream, appended: Uint8Array[]): void {
      const bytes = appended.reduce((sum, { byteLength }) => sum + byteLength + entryBytes, 0);
      appends.push({ stream, end: stream.dropped + stream.entries.length, bytes });
      used += bytes;
      if (used > maxBytes) dropOldestAppends();
      removeDropped();
    },
  };
}

function sizeOf(entries: readonly { data: Uint8Array }[]): number {
  return entries.reduce((sum, { data }) => sum + data.byteLength + entryBytes, 0);
}
