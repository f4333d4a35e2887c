import { unavailable } from '@parley/kernel/errors';
import { checkKey } from '../key-value/key-value.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { beginning, compareParts, type EventId, type EventIdParts, eventIdParts, formatEventId } from './event-id.ts';
import type { EventLog, Excerpt, Reach } from './event-log.ts';
import { type Follower, followStream, type Reader } from './redis-follower.ts';
import { appendTo, checkMayAppend, entriesAfter, type LinkedEntry, newestId, oldestEntry } from './redis-stream.ts';
import { tailOf } from './redis-tail.ts';

export interface RedisEventLogOptions {
  /** How long entries are kept, in ms. Default 1 h. */
  ttlMs?: number;
  /** Approximate number of entries that one stream keeps; above it, the stream's oldest entries are dropped. Default 100,000. */
  maxEntries?: number;
  /** How long tails wait for Redis before they fail as `unavailable`, in ms. Default 30,000. */
  outageTimeoutMs?: number;
}

/** The minimum interval in ms between two checks whether the process's login may append; a check is made when a tail begins. */
const rightsIntervalMs = 60_000;

/** Number of streams for which a process remembers the last appended id. */
const rememberedStreams = 10_000;

/**
 * The event log that all replicas share, with one Redis stream for each stream. All tails of one stream in this process share its reads.
 * `close` does not close the connection.
 */
export function redisEventLog(connection: RedisConnection, options: RedisEventLogOptions = {}): EventLog {
  const { ttlMs = 3_600_000, maxEntries = 100_000, outageTimeoutMs = 30_000 } = options;
  const followers = new Map<string, Promise<Follower>>();
  const lastIds = new Map<string, EventIdParts>();
  const closing = new AbortController();
  let rightsCheckedMs = Number.NEGATIVE_INFINITY;

  async function checkRights(stream: string): Promise<void> {
    if (performance.now() - rightsCheckedMs < rightsIntervalMs) return;
    await checkMayAppend(connection, stream);
    rightsCheckedMs = performance.now();
  }

  function use(stream: string): void {
    if (closing.signal.aborted) throw unavailable('The event log is closed');
    checkKey(stream);
  }

  /** The last id also reveals when Redis has lost its newest entries. */
  function remember(stream: string, id: EventId | undefined): void {
    if (id === undefined) return;
    lastIds.delete(stream);
    lastIds.set(stream, eventIdParts(id));
    const [oldest] = lastIds.keys();
    if (lastIds.size > rememberedStreams && oldest !== undefined) lastIds.delete(oldest);
  }

  function follow(stream: string): Promise<Follower> {
    const found = followers.get(stream);
    if (found) return found;
    const forget = () => {
      if (followers.get(stream) === made) followers.delete(stream);
    };
    const made = followStream(connection, stream, { outageTimeoutMs, closeSignal: closing.signal, ended: forget });
    followers.set(stream, made);
    made.catch(forget);
    return made;
  }

  /** Retries when the follower has just ended because it had no more readers. */
  async function join(stream: string, maxBehind: number): Promise<Reader> {
    for (;;) {
      const reader = (await follow(stream)).join(maxBehind);
      if (reader) return reader;
    }
  }

  return {
    async append(stream, data, { after } = {}) {
      use(stream);
      const floor = after === undefined ? beginning : eventIdParts(after);
      if (data.length === 0) return [];
      const last = lastIds.get(stream) ?? beginning;
      const ids = await appendTo(connection, stream, data, {
        floor: compareParts(last, floor) > 0 ? last : floor,
        isNew: after !== undefined && compareParts(floor, beginning) === 0 && last === beginning,
        ttlMs,
        maxEntries,
      });
      remember(stream, ids.at(-1));
      return ids;
    },

    async read(stream, { after, limit = 1_000 }): Promise<Excerpt> {
      use(stream);
      const from = eventIdParts(after);
      // Both commands run concurrently. An entry that is trimmed between them may be returned and still be reported as missing; a missing
      // entry is never reported as present.
      const [entries, oldest] = await Promise.all([
        entriesAfter(connection, stream, formatEventId(from), limit),
        oldestEntry(connection, stream),
      ]);
      return { ...reach(oldest, from), entries: entries.map(({ id, data }) => ({ id, data })) };
    },

    async tail(stream, { after, maxBehind = 10_000 }, signal) {
      use(stream);
      const wanted = after === 'now' ? undefined : eventIdParts(after);
      if (!signal.aborted) await checkRights(stream);
      const reader = signal.aborted ? undefined : await join(stream, maxBehind);
      try {
        const [oldest, newest = beginning] = await Promise.all([
          oldestEntry(connection, stream),
          newestId(connection, stream),
        ]);
        const from = wanted ?? newest;
        const { complete, oldestId } = reach(oldest, from);
        const batches = tailOf(reader, { after: from, wantsPast: wanted !== undefined, isComplete: complete, signal });
        return { complete: complete || !wanted, oldestId, [Symbol.asyncIterator]: () => batches };
      } catch (error) {
        reader?.leave();
        throw error;
      }
    },

    async ping() {
      if (closing.signal.aborted) throw unavailable('The event log is closed');
      await connection.ready();
    },

    async close() {
      closing.abort();
    },
  };
}

function reach(oldest: LinkedEntry | undefined, after: EventIdParts): Reach {
  const complete = oldest !== undefined && compareParts(after, eventIdParts(oldest.previous)) >= 0;
  return { complete, oldestId: oldest?.id };
}
