import { unavailable } from '@parley/chassis/errors';
import { compareEventIds, type EventId, FIRST_EVENT_ID } from '@parley/chassis/event-log/event-id';

/** What a stream carries. */
export interface FeedItem {
  /** Grows within a stream. */
  readonly eventId: EventId;
}

export interface SharedFeedsOptions<Item> {
  /** Whether an item has just happened: whoever is handed one has caught up. */
  isLive: (item: Item) => boolean;
  /** How many of its newest items a shared stream keeps, for those who come to it. Default 16. */
  bufferSize?: number;
  /** How many items a reader may leave unread. Default 1,000. */
  maxUnread?: number;
  /** How long a shared stream may stay behind what a reader's own has shown, before it is given up. Default 3,000. */
  maxLagMs?: number;
}

/** Readers of one stream who have caught up with it share what is read of it. */
export interface SharedFeeds<Item> {
  /**
   * What `open` gives, until `signal` aborts. Every reader opens a stream of its own, which says whether it may read and what it has
   * missed; with the first live item that is left, and the reader handed what all the others are. The first who gets so far
   * lends its stream to those after it, and it lives until the last of them leaves.
   * @param key Who may read one stream of a key may read all of them, and all say the same.
   */
  follow(
    key: string,
    open: (signal: AbortSignal) => AsyncGenerator<Item>,
    signal: AbortSignal,
  ): AsyncGenerator<Item, void, undefined>;
}

/** A stream that is read for many. */
interface Feed<Item> {
  /** The newest items, oldest first; never empty. */
  recent: Item[];
  readers: Set<Reader<Item>>;
  /** Nobody reads it any more. */
  leave: () => void;
  /** Runs while it is behind what another stream has shown. */
  deadline?: NodeJS.Timeout | undefined;
}

/** One of its readers. */
interface Reader<Item> {
  unread: Item[];
  wake: () => void;
  /** Set when nothing more will come. */
  end?: End;
}

type End = 'ended' | { error: unknown };

export function sharedFeeds<Item extends FeedItem>({
  isLive,
  bufferSize = 16,
  maxUnread = 1_000,
  maxLagMs = 3_000,
}: SharedFeedsOptions<Item>): SharedFeeds<Item> {
  const feeds = new Map<string, Feed<Item>>();

  /** Makes a reader's stream that of all; `item` is the last that it gave. */
  function share(key: string, stream: AsyncGenerator<Item>, item: Item, leave: () => void): Feed<Item> {
    const feed: Feed<Item> = { recent: [item], readers: new Set(), leave };
    feeds.set(key, feed);
    void readFor(key, feed, stream);
    return feed;
  }

  function remove(key: string, feed: Feed<Item>): void {
    if (feeds.get(key) === feed) feeds.delete(key);
  }

  async function readFor(key: string, feed: Feed<Item>, stream: AsyncGenerator<Item>): Promise<void> {
    const { recent, readers } = feed;
    let reason: End = 'ended';
    try {
      for await (const item of stream) {
        recent.push(item);
        if (recent.length > bufferSize) recent.shift();
        for (const reader of readers) deliver(reader, item);
      }
    } catch (error) {
      reason = { error };
    }
    end(key, feed, reason);
  }

  function end(key: string, feed: Feed<Item>, reason: End): void {
    remove(key, feed);
    for (const reader of feed.readers) {
      reader.end ??= reason;
      reader.wake();
    }
  }

  /**
   * A feed that does not come to what another stream has shown has stalled with whoever sends it. Its readers are told, and come
   * back to another stream.
   */
  function watchLag(key: string, feed: Feed<Item>, item: Item): void {
    const isBehind = () => isBefore(feed.recent.at(-1) ?? item, item);
    if (feed.deadline || !isBehind()) return;
    feed.deadline = setTimeout(() => {
      feed.deadline = undefined;
      if (!isBehind()) return;
      end(key, feed, {
        error: unavailable('These events stalled; subscribe again with the last event id'),
      });
      feed.leave();
    }, maxLagMs).unref();
  }

  function deliver(reader: Reader<Item>, item: Item): void {
    if (reader.end) return;
    reader.unread.push(item);
    if (reader.unread.length > maxUnread) {
      reader.unread = [];
      reader.end = { error: unavailable('This reader is too slow; subscribe again with the last event id') };
    }
    reader.wake();
  }

  /** A reader whose reader gets `item` and all after it; undefined where the feed has forgotten what came next. */
  function attach({ recent, readers }: Feed<Item>, item: Item): Reader<Item> | undefined {
    if (recent[0] && isBefore(item, recent[0])) return undefined;
    const next = recent.filter((other) => isBefore(item, other));
    const reader: Reader<Item> = { unread: [item, ...next], wake: () => undefined };
    readers.add(reader);
    return reader;
  }

  async function* read(key: string, feed: Feed<Item>, reader: Reader<Item>, signal: AbortSignal): AsyncGenerator<Item> {
    const wake = () => reader.wake();
    signal.addEventListener('abort', wake, { once: true });
    let lastId = FIRST_EVENT_ID;
    try {
      while (!signal.aborted) {
        const item = reader.unread.shift();
        if (item) {
          // The reader's own stream may have been ahead of the feed.
          if (compareEventIds(item.eventId, lastId) <= 0) continue;
          lastId = item.eventId;
          yield item;
          continue;
        }
        if (reader.end === 'ended') return;
        if (reader.end) throw reader.end.error;
        await new Promise<void>((resolve) => {
          reader.wake = resolve;
        });
      }
    } finally {
      signal.removeEventListener('abort', wake);
      feed.readers.delete(reader);
      if (feed.readers.size === 0) {
        remove(key, feed);
        clearTimeout(feed.deadline);
        feed.leave();
      }
    }
  }

  return {
    async *follow(key, open, signal) {
      if (signal.aborted) return;
      const own = new AbortController();
      const leave = () => own.abort();
      signal.addEventListener('abort', leave, { once: true });
      const stream = open(own.signal);
      let isShared = false;
      try {
        for (;;) {
          const { done, value: item } = await stream.next();
          if (done) return;
          if (isLive(item)) {
            const found = feeds.get(key);
            isShared = !found;
            const feed = found ?? share(key, stream, item, leave);
            const reader = attach(feed, item);
            if (reader) {
              signal.removeEventListener('abort', leave);
              if (!isShared) abandon(stream);
              watchLag(key, feed, item);
              yield* read(key, feed, reader, signal);
              return;
            }
          }
          yield item;
        }
      } finally {
        signal.removeEventListener('abort', leave);
        if (!isShared) abandon(stream);
      }
    },
  };
}

function isBefore(one: FeedItem, other: FeedItem): boolean {
  return compareEventIds(one.eventId, other.eventId) < 0;
}

/** Whoever leaves waits for nobody, and is not told that its stream was broken, too. */
function abandon(stream: AsyncGenerator): void {
  stream.return(undefined).catch(() => undefined);
}
