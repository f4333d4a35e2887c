import { setTimeout as delay } from 'node:timers/promises';
import { type DomainError, isDomainError, unavailable } from '@parley/kernel/errors';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { compareParts, type EventIdParts, eventIdParts, formatEventId } from './event-id.ts';
import { type Entry, SlowReader } from './event-log.ts';
import { channelOf, entriesAfter, type LinkedEntry, newestId, pageSize } from './redis-stream.ts';

export interface FollowerOptions {
  patienceMs: number;
  closed: AbortSignal;
  /** Nobody follows through this one any more. */
  ended(): void;
}

/** What this process knows of the end of one stream, read once for all who follow it. */
export interface Follower {
  /** Entries after the present position go to this reader from now on. Undefined where the follower has ended. */
  join(maxBehind: number): Reader | undefined;
}

/** Said in place of an entry: some may be missing here. */
export const interruption = Symbol('interruption');

export interface Reader {
  /** Up to here the stream has to be read by the reader itself; what came later is in the queue. */
  readonly joinedAt: EventIdParts;
  /** What it has not taken yet. */
  readonly queue: (Entry | typeof interruption)[];
  /** Why nothing more will come. */
  readonly failure: DomainError | undefined;
  /** A page of the stream itself. Waits for a Redis that is away. */
  page(after: EventIdParts): Promise<LinkedEntry[]>;
  /** Resolves at the next entry, at the end, or when the signal aborts. */
  next(signal: AbortSignal): Promise<void>;
  leave(): void;
}

interface Seat {
  queue: (Entry | typeof interruption)[];
  failure: DomainError | undefined;
  maxBehind: number;
  wake(): void;
}

const retryMs = 200;

/** @throws DomainError `unavailable` while Redis is away. */
export async function followStream(
  redis: RedisConnection,
  stream: string,
  { patienceMs, closed, ended }: FollowerOptions,
): Promise<Follower> {
  const seats = new Set<Seat>();
  const pages = new Map<string, Promise<LinkedEntry[]>>();
  const over = new AbortController();
  let position: EventIdParts | undefined;
  let isReading = false;
  let isStale = false;
  let patience: NodeJS.Timeout | undefined;

  /** Readers that are at the same place, as after a reconnect of all, share the page and its bytes. */
  function page(after: EventIdParts): Promise<LinkedEntry[]> {
    const key = formatEventId(after);
    const under = pages.get(key);
    if (under) return under;
    const made = patiently(() => entriesAfter(redis, stream, key, pageSize)).finally(() => pages.delete(key));
    pages.set(key, made);
    return made;
  }

  async function patiently<T>(read: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (!isDomainError(error, 'unavailable') || over.signal.aborted || performance.now() > deadline) throw error;
        await delay(retryMs);
      }
    }
  }

  function tell(items: (Entry | typeof interruption)[]): void {
    for (const seat of seats) {
      if (seat.failure) continue;
      for (const item of items) if (item !== interruption || seat.queue.at(-1) !== interruption) seat.queue.push(item);
      if (seat.queue.length > seat.maxBehind) {
        seat.failure = new SlowReader();
        seat.queue = [];
      }
      seat.wake();
    }
  }

  /** Reads on from the last entry seen; wakes that come meanwhile make it read once more. */
  async function readOn(): Promise<void> {
    isStale = true;
    if (isReading || !position) return;
    isReading = true;
    try {
      while (isStale && !over.signal.aborted) {
        isStale = false;
        const found = await page(position);
        const [first, last] = [found[0], found.at(-1)];
        if (!first || !last) continue;
        const isKnown = position.ms > 0;
        const lacks = isKnown && compareParts(eventIdParts(first.previous), position) > 0;
        position = eventIdParts(last.id);
        const entries = found.map(({ id, data }) => ({ id, data }));
        tell(lacks ? [interruption, ...entries] : entries);
        if (found.length === pageSize) isStale = true;
      }
    } catch (error) {
      fail(isDomainError(error) ? error : unavailable('The event log cannot be read', error));
    } finally {
      isReading = false;
    }
  }

  function end(): void {
    if (over.signal.aborted) return;
    over.abort();
    clearTimeout(patience);
    closed.removeEventListener('abort', close);
    unsubscribe();
    ended();
  }

  function fail(failure: DomainError): void {
    end();
    for (const seat of seats) {
      seat.failure ??= failure;
      seat.wake();
    }
  }

  const close = () => fail(unavailable('The event log is closed'));

  const unsubscribe = await redis.subscribe(channelOf(stream), {
    message: () => void readOn(),
    lost() {
      patience ??= setTimeout(() => fail(unavailable('The event log is away')), patienceMs);
    },
    resumed() {
      clearTimeout(patience);
      patience = undefined;
      // Whoever appended meanwhile may have failed to, while its database has what it wanted to say.
      tell([interruption]);
      void readOn();
    },
  });
  closed.addEventListener('abort', close);
  try {
    closed.throwIfAborted();
    position = (await newestId(redis, stream)) ?? { ms: 0, n: 0 };
  } catch (error) {
    end();
    throw closed.aborted ? unavailable('The event log is closed') : error;
  }
  if (isStale) void readOn();

  return {
    join(maxBehind) {
      if (over.signal.aborted || !position) return undefined;
      const joinedAt = position;
      let wake: () => void = () => undefined;
      const seat: Seat = { queue: [], failure: undefined, maxBehind, wake: () => wake() };
      seats.add(seat);
      return {
        joinedAt,
        get queue() {
          return seat.queue;
        },
        get failure() {
          return seat.failure;
        },
        page,
        next(signal) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = () => resolve();
          signal.addEventListener('abort', wake, { once: true });
          const woken = wake;
          return promise.finally(() => signal.removeEventListener('abort', woken));
        },
        leave() {
          if (seats.delete(seat) && seats.size === 0) end();
        },
      };
    },
  };
}
