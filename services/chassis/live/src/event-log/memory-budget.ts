import { dropOldest, type MemoryStream } from './memory-stream.ts';

/** Measured overhead of an entry in bytes, including its id and the state that readers keep for the entry. */
const entryBytes = 800;

/** The fraction to which a full log is reduced, so that it does not drop entries at every append. */
const keptFraction = 0.9;

/** An append. `end`: the number in the stream that the entry after the append has. */
interface Append {
  stream: MemoryStream;
  end: number;
  bytes: number;
}

/** Bounds the memory of all streams of a log together to `maxBytes`, including the overhead of entries. */
export function memoryBudget(maxBytes: number) {
  // In order of time. The appends before `first` have been dropped.
  let appends: Append[] = [];
  let first = 0;
  let used = 0;

  /** Drops the oldest `count` entries of a stream. */
  function drop(stream: MemoryStream, count: number): void {
    used -= sizeOf(dropOldest(stream, count));
  }

  /** Drops the oldest appends, but never the last one. */
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

  /** Removes the records of appends whose entries have been dropped for their age. */
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
