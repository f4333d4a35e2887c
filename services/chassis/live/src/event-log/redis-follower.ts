import { type DomainError, isDomainError, unavailable } from '@parley/kernel/errors';
import { whileUnavailable } from '@parley/kernel/timing/while-unavailable';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { beginning, compareParts, type EventIdParts, eventIdParts, formatEventId } from './event-id.ts';
import { type Entry, SlowReader } from './event-log.ts';
import { channelOf, entriesAfter, type LinkedEntry, newestId, pageSize, publishedEntry } from './redis-stream.ts';

export interface FollowerOptions {
  outageTimeoutMs: number;
  closeSignal: AbortSignal;
  /** Called when the follower has ended, e.g. because it has no more readers. */
  ended(): void;
}

/** A marker between entries: at this point entries may be missing. */
export const interruption = Symbol('interruption');

export type Follower = Awaited<ReturnType<typeof followStream>>;
export type Reader = NonNullable<ReturnType<Follower['join']>>;

interface ReaderState {
  /** Entries that the reader has not read yet. */
  queue: (Entry | typeof interruption)[];
  /** The reason why the follower has ended or the reader is too slow. */
  failure: DomainError | undefined;
  maxBehind: number;
  wake(): void;
}

const retryMs = 200;

/**
 * Reads the new entries of one stream for all its readers in this process.
 * @throws DomainError `unavailable` in an outage of Redis.
 */
export async function followStream(
  redis: RedisConnection,
  stream: string,
  { outageTimeoutMs, closeSignal, ended: onEnded }: FollowerOptions,
) {
  const readers = new Set<ReaderState>();
  const pages = new Map<string, Promise<LinkedEntry[]>>();
  const ended = new AbortController();
  let position: EventIdParts | undefined;
  let isReading = false;
  let isStale = false;
  let isLost = false;
  let outageTimer: NodeJS.Timeout | undefined;

  /** Returns a page of the stream; in an outage waits for Redis. Readers at the same position, as after a reconnection, share the page. */
  function page(after: EventIdParts): Promise<LinkedEntry[]> {
    const key = formatEventId(after);
    const pending = pages.get(key);
    if (pending) return pending;
    const made = withRetries(() => entriesAfter(redis, stream, key, pageSize)).finally(() => pages.delete(key));
    pages.set(key, made);
    return made;
  }

  function withRetries<T>(read: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + outageTimeoutMs;
    return whileUnavailable(read, retryMs, () => !ended.signal.aborted && performance.now() <= deadline);
  }

  function deliver(items: (Entry | typeof interruption)[]): void {
    for (const state of readers) {
      if (state.failure) continue;
      for (const item of items)
        if (item !== interruption || state.queue.at(-1) !== interruption) state.queue.push(item);
      if (state.queue.length > state.maxBehind) {
        state.failure = new SlowReader();
        state.queue = [];
      }
      state.wake();
    }
  }

  /** Reads the entries after the follower's position. A notification during a read causes another read. */
  async function readOn(): Promise<void> {
    isStale = true;
    if (isReading || !position) return;
    isReading = true;
    try {
      while (isStale && !ended.signal.aborted) {
        isStale = false;
        const found = await page(position);
        if (isLost) return; // nothing may be delivered before the interruption; `resumed` reads these entries again
        const [first, last] = [found[0], found.at(-1)];
        if (!first || !last) continue;
        const isKnown = position.ms > 0;
        const hasGap = isKnown && compareParts(eventIdParts(first.previous), position) > 0;
        position = eventIdParts(last.id);
        const entries = found.map(({ id, data }) => ({ id, data }));
        deliver(hasGap ? [interruption, ...entries] : entries);
        if (found.length === pageSize) isStale = true;
      }
    } catch (error) {
      fail(isDomainError(error) ? error : unavailable('The event log cannot be read', error));
    } finally {
      isReading = false;
    }
  }

  /** Delivers a published entry if it is the next one; otherwise reads from the stream. */
  function onAppended(message: Buffer): void {
    if (isLost) return; // the entry is not delivered now: `resumed` delivers the interruption first, and then reads
    const entry = publishedEntry(message);
    if (!entry || isReading || !position || entry.previous !== formatEventId(position)) return void readOn();
    position = eventIdParts(entry.id);
    deliver([{ id: entry.id, data: entry.data }]);
  }

  function end(): void {
    if (ended.signal.aborted) return;
    ended.abort();
    clearTimeout(outageTimer);
    closeSignal.removeEventListener('abort', close);
    unsubscribe();
    onEnded();
  }

  function fail(failure: DomainError): void {
    end();
    for (const state of readers) {
      state.failure ??= failure;
      state.wake();
    }
  }

  const close = () => fail(unavailable('The event log is closed'));

  let unsubscribe: () => void = () => undefined;
  const listener = {
    message: onAppended,
    lost() {
      isLost = true;
      outageTimer ??= setTimeout(() => fail(unavailable('The event log is unavailable')), outageTimeoutMs);
    },
    resumed() {
      isLost = false;
      clearTimeout(outageTimer);
      outageTimer = undefined;
      // Appends during the outage may have failed although their events are in a database.
      deliver([interruption]);
      void readOn();
    },
  };
  closeSignal.addEventListener('abort', close);
  try {
    unsubscribe = await redis.subscribe(channelOf(stream), listener);
    ended.signal.throwIfAborted();
    position = (await newestId(redis, stream)) ?? beginning;
  } catch (error) {
    end();
    unsubscribe();
    if (closeSignal.aborted) throw unavailable('The event log is closed');
    throw ended.signal.reason === error ? unavailable('The event log is unavailable') : error;
  }
  if (isStale) void readOn();

  return {
    /** Adds a reader, which gets all entries after the follower's present position. Returns undefined when the follower has ended. */
    join(maxBehind: number) {
      if (ended.signal.aborted || !position) return undefined;
      const state: ReaderState = { queue: [], failure: undefined, maxBehind, wake: () => undefined };
      readers.add(state);
      return Object.assign(state, {
        /** The reader itself reads the stream, page by page, up to this position; later entries are in the queue. */
        joinedAt: position,
        page,
        /** Resolves at the next entry, when the follower ends, or when the signal aborts. */
        next(signal: AbortSignal): Promise<void> {
          const { promise, resolve } = Promise.withResolvers<void>();
          const wake = () => resolve();
          state.wake = wake;
          signal.addEventListener('abort', wake, { once: true });
          return promise.finally(() => signal.removeEventListener('abort', wake));
        },
        leave(): void {
          if (readers.delete(state) && readers.size === 0) end();
        },
      });
    },
  };
}
