import { dropOldest, type MemoryStream } from './memory-stream.ts';

/** What an entry takes beside its bytes, as measured: itself, its id, and what its readers keep of it. */
const entryBytes = 800;

/** To how much of the room the streams shrink when it is full, so that a full log does not do this at every append. */
const kept = 0.9;

/** What all streams of a log take together, and who has to give way. */
export interface MemoryRoom {
  /** Counts what has just been appended as the end of a stream; where that is too much, the oldest of all streams goes. */
  added(stream: MemoryStream, appended: Uint8Array[]): void;
  /** Forgets the oldest `count` entries of a stream. */
  drop(stream: MemoryStream, count: number): void;
}

/** An append: the numbers of its entries in their stream end before `end`. */
interface Append {
  stream: MemoryStream;
  end: number;
  bytes: number;
}

/** Room for so many bytes, what entries take beside their bytes included. */
export function memoryRoom(maxBytes: number): MemoryRoom {
  // In the order of time, those before `first` are gone.
  let appends: Append[] = [];
  let first = 0;
  let used = 0;

  function drop(stream: MemoryStream, count: number): void {
    used -= sizeOf(dropOldest(stream, count));
  }

  /** The last append stays, however large it is. */
  function makeRoom(): void {
    const ends = new Map<MemoryStream, number>();
    let tooMuch = used - maxBytes * kept;
    for (; tooMuch > 0 && first < appends.length - 1; first++) {
      const { stream, end, bytes } = appends[first] as Append;
      if (end <= stream.dropped) continue;
      ends.set(stream, end);
      tooMuch -= bytes;
    }
    for (const [stream, end] of ends) drop(stream, end - stream.dropped);
  }

  /** Appends that have aged out of their stream are not kept in mind until room is short. */
  function forgetGone(): void {
    for (let oldest = appends[first]; oldest && oldest.end <= oldest.stream.dropped; oldest = appends[first]) first++;
    if (first < 1_000 || first < appends.length / 2) return;
    appends = appends.slice(first);
    first = 0;
  }

  return {
    drop,
    added(stream, appended) {
      const bytes = appended.reduce((sum, { byteLength }) => sum + byteLength + entryBytes, 0);
      appends.push({ stream, end: stream.dropped + stream.entries.length, bytes });
      used += bytes;
      if (used > maxBytes) makeRoom();
      forgetGone();
    },
  };
}

function sizeOf(entries: readonly { data: Uint8Array }[]): number {
  return entries.reduce((sum, { data }) => sum + data.byteLength + entryBytes, 0);
}
