import { unavailable } from '@parley/kernel/errors';
import { gradualSweep } from '@parley/kernel/timing/gradual-sweep';
import { checkKey } from '../key-value/key-value.ts';
import { beginning, compareParts, type EventIdParts, eventIdParts, formatEventId } from './event-id.ts';
import type { EventLog, Excerpt, Reach } from './event-log.ts';
import { highWaterMark } from './high-water-mark.ts';
import { memoryBudget } from './memory-budget.ts';
import { indexAfter, type MemoryStream, newestId, wakeReaders } from './memory-stream.ts';
import { followStream } from './memory-tail.ts';

export interface MemoryEventLogOptions {
  /** How long entries are kept, in ms. Default 1 h. */
  ttlMs?: number;
  /** Maximum number of entries of one stream; above it, the stream's oldest entries are dropped. Default 100,000. */
  maxEntries?: number;
  /** Maximum bytes of all streams together; beyond it, the oldest entries of all streams are dropped. Default 256 MB. */
  maxBytes?: number;
  /**
   * A file in the data folder with an upper bound of the ids, so that ids of a later run are greater even when the clock steps back.
   * Without the file, only the clock and `after` ensure that ids grow from run to run.
   */
  highWaterFile?: string;
  /** Returns the current time in milliseconds since 1970. */
  now?: () => number;
}

/** The event log of one process, shared by all its units. A restart loses the entries but not the order of ids. */
export function memoryEventLog(options: MemoryEventLogOptions = {}): EventLog {
  const { ttlMs = 3_600_000, maxEntries = 100_000, maxBytes = 256 * 1024 * 1024, now = Date.now } = options;
  const budget = memoryBudget(maxBytes);
  const mark = options.highWaterFile === undefined ? undefined : highWaterMark(options.highWaterFile);
  const streams = new Map<string, MemoryStream>();
  const sweep = gradualSweep(streams, (stream) => {
    trim(stream);
    return stream.entries.length === 0 && stream.readers === 0;
  });
  // One sequence for all streams, so that a stream that was deleted and is used again cannot repeat its ids.
  let last: EventIdParts = { ms: mark?.startMs ?? 0, n: 0 };
  let closed = false;

  function use(name: string): void {
    if (closed) throw unavailable('The event log is closed');
    checkKey(name);
  }

  function open(name: string): MemoryStream {
    const found = streams.get(name);
    if (found) return found;
    const stream: MemoryStream = { entries: [], dropped: 0, horizon: undefined, readers: 0, waiting: new Set() };
    streams.set(name, stream);
    return stream;
  }

  function trim(stream: MemoryStream): void {
    const { entries } = stream;
    const oldestMs = now() - ttlMs;
    // Drops a tenth more than necessary, so that a full stream does not move all its entries at every append.
    let dropped = entries.length > maxEntries ? entries.length - Math.floor(maxEntries * 0.9) : 0;
    for (let entry = entries[dropped]; entry && eventIdParts(entry.id).ms < oldestMs; entry = entries[dropped])
      dropped++;
    budget.drop(stream, dropped);
  }

  function reach(stream: MemoryStream | undefined, after: EventIdParts): Reach {
    const complete = stream?.horizon !== undefined && compareParts(after, stream.horizon) >= 0;
    return { complete, oldestId: stream?.entries[0]?.id };
  }

  return {
    async append(name, data, { after } = {}) {
      use(name);
      const floor = after === undefined ? undefined : eventIdParts(after);
      if (data.length === 0) return [];
      const stream = open(name);
      trim(stream);

      if (floor && compareParts(floor, last) > 0) last = floor;
      if (stream.horizon === undefined) {
        stream.horizon = floor && compareParts(floor, beginning) === 0 ? beginning : last;
      } else if (floor && compareParts(floor, newestId(stream)) > 0) {
        budget.drop(stream, stream.entries.length); // earlier entries are missing, so the stream must not seem complete
        stream.horizon = last;
      }

      const ms = Math.max(now(), last.ms);
      mark?.reserve(ms);
      const entries = data.map((bytes) => {
        last = ms > last.ms ? { ms, n: 0 } : { ms, n: last.n + 1 };
        return { id: formatEventId(last), data: bytes };
      });
      stream.entries.push(...entries);
      budget.added(stream, data);
      wakeReaders(stream);
      sweep();
      return entries.map(({ id }) => id);
    },

    async read(name, { after, limit = 1_000 }): Promise<Excerpt> {
      use(name);
      const from = eventIdParts(after);
      const stream = streams.get(name);
      if (stream) trim(stream);
      const first = stream ? indexAfter(stream.entries, from) : 0;
      return { ...reach(stream, from), entries: stream?.entries.slice(first, first + limit) ?? [] };
    },

    async tail(name, { after, maxBehind = 10_000 }, signal) {
      use(name);
      const from = after === 'now' ? last : eventIdParts(after);
      const stream = open(name);
      trim(stream);
      const begin = stream.dropped + (after === 'now' ? stream.entries.length : indexAfter(stream.entries, from));
      const batches = followStream(stream, { begin, after: from, maxBehind, signal, isClosed: () => closed });
      const { complete, oldestId } = reach(stream, from);
      return { complete: complete || after === 'now', oldestId, [Symbol.asyncIterator]: () => batches };
    },

    async ping() {
      if (closed) throw unavailable('The event log is closed');
    },

    async close() {
      closed = true;
      for (const stream of streams.values()) wakeReaders(stream);
      streams.clear();
    },
  };
}
