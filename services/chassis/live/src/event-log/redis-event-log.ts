import { unavailable } from '@parley/kernel/errors';
import { checkKey } from '../key-value/key-value.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { compareParts, type EventId, type EventIdParts, eventIdParts, formatEventId } from './event-id.ts';
import type { EventLog, Excerpt, Reach } from './event-log.ts';
import { type Follower, followStream, type Reader } from './redis-follower.ts';
import { appendTo, entriesAfter, type LinkedEntry, newestId, oldestEntry } from './redis-stream.ts';
import { tailOf } from './redis-tail.ts';

export interface RedisEventLogOptions {
  /** How long entries are kept. Default 1 h. */
  ttlMs?: number;
  /** About the most entries one stream keeps; beyond, its oldest go first. Default 100,000. */
  maxEntries?: number;
  /** How long those who follow a stream wait for Redis to come back before they are told that it is away. Default 30,000. */
  patienceMs?: number;
}

/** Of how many streams a process remembers the last id that it was given. */
const rememberedStreams = 10_000;
const beginning: EventIdParts = { ms: 0, n: 0 };

/**
 * The event log that all replicas share, a Redis stream for each of its streams. All who follow one stream in this process share
 * what is read of it. `close` leaves the connection to its owner.
 */
export function redisEventLog(connection: RedisConnection, options: RedisEventLogOptions = {}): EventLog {
  const { ttlMs = 3_600_000, maxEntries = 100_000, patienceMs = 30_000 } = options;
  const followers = new Map<string, Promise<Follower>>();
  const given = new Map<string, EventIdParts>();
  const closing = new AbortController();

  function use(stream: string): void {
    if (closing.signal.aborted) throw unavailable('The event log is closed');
    checkKey(stream);
  }

  /** A Redis that lost its newest entries is known by this too. */
  function remember(stream: string, id: EventId | undefined): void {
    if (id === undefined) return;
    given.delete(stream);
    given.set(stream, eventIdParts(id));
    const [oldest] = given.keys();
    if (given.size > rememberedStreams && oldest !== undefined) given.delete(oldest);
  }

  function follow(stream: string): Promise<Follower> {
    const found = followers.get(stream);
    if (found) return found;
    const forget = () => {
      if (followers.get(stream) === made) followers.delete(stream);
    };
    const made = followStream(connection, stream, { patienceMs, closed: closing.signal, ended: forget });
    followers.set(stream, made);
    made.catch(forget);
    return made;
  }

  /** One that ends just then, since its last reader left, is followed anew. */
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
      const last = given.get(stream) ?? beginning;
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
      // What is trimmed between the two is there and said to be lacking; never the other way round.
      const [entries, oldest] = await Promise.all([
        entriesAfter(connection, stream, formatEventId(from), limit),
        oldestEntry(connection, stream),
      ]);
      return { ...reach(oldest, from), entries: entries.map(({ id, data }) => ({ id, data })) };
    },

    async tail(stream, { after, maxBehind = 10_000 }, signal) {
      use(stream);
      const wanted = after === 'now' ? undefined : eventIdParts(after);
      const reader = signal.aborted ? undefined : await join(stream, maxBehind);
      try {
        const [oldest, newest = beginning] = await Promise.all([
          oldestEntry(connection, stream),
          newestId(connection, stream),
        ]);
        const from = wanted ?? newest;
        const { complete, oldestId } = reach(oldest, from);
        const batches = tailOf(reader, { after: from, wantsPast: wanted !== undefined, isWhole: complete, signal });
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
