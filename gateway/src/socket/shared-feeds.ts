import { unavailable } from '@parley/kernel/errors';
import { compareEventIds, type EventId, FIRST_EVENT_ID } from '@parley/live/event-log/event-id';

export const subscribeAgain = 'subscribe again, with the last event id where the field takes one';

export interface FeedItem {
  readonly eventId: EventId;
}

export interface SharedFeedsOptions<Item> {
  /** Reports whether an item is new rather than replayed. A reader that gets a new item has caught up. */
  isLive: (item: Item) => boolean;
  /** Number of newest items that are kept for readers that join. Default 16. */
  bufferSize?: number;
  maxUnread?: number;
  /**
   * Maximum time in ms that a shared stream may lag behind a stream that another reader opened for the same key. A stream that lags longer
   * is closed. Default 3,000.
   */
  maxLagMs?: number;
}

export interface SharedFeeds<Item> {
  /**
   * Opens the reader's own stream, which authorizes the reader and replays missed items. At the first live item the reader joins the stream
   * shared under `key`. The first reader to catch up shares its own stream until the last reader leaves.
   */
  follow(
    key: string,
    open: (signal: AbortSignal) => AsyncGenerator<Item>,
    signal: AbortSignal,
  ): AsyncGenerator<Item, void, undefined>;
}

interface Feed<Item> {
  /** The newest items, oldest first; never empty. */
  recent: Item[];
  readers: Set<Reader<Item>>;
  close: () => void;
  deadline?: NodeJS.Timeout | undefined;
}

interface Reader<Item> {
  unread: Item[];
  wake: () => void;
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

  /** Shares a reader's stream; `item` is the last item that the stream delivered to the reader. */
  function share(key: string, stream: AsyncGenerator<Item>, item: Item, close: () => void): Feed<Item> {
    const feed: Feed<Item> = { recent: [item], readers: new Set(), close };
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
   * Ends a feed whose sender has stalled: the feed stays behind a stream that another reader opened. The feed's readers get an error and
   * subscribe again.
   */
  function watchLag(key: string, feed: Feed<Item>, item: Item): void {
    const isBehind = () => isBefore(feed.recent.at(-1) ?? item, item);
    if (feed.deadline || !isBehind()) return;
    feed.deadline = setTimeout(() => {
      feed.deadline = undefined;
      if (!isBehind()) return;
      end(key, feed, {
        error: unavailable(`These events stalled; ${subscribeAgain}`),
      });
      feed.close();
    }, maxLagMs).unref();
  }

  function deliver(reader: Reader<Item>, item: Item): void {
    if (reader.end) return;
    reader.unread.push(item);
    if (reader.unread.length > maxUnread) {
      reader.unread = [];
      reader.end = { error: unavailable(`This reader is too slow; ${subscribeAgain}`) };
    }
    reader.wake();
  }

  /** Adds a reader to a feed at `item`. Returns undefined if the feed no longer buffers the items after `item`. */
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
          // The reader's own stream may have been ahead of the feed. Items of the feed that the own stream has already delivered are
          // skipped.
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
        feed.close();
      }
    }
  }

  return {
    async *follow(key, open, signal) {
      if (signal.aborted) return;
      const own = new AbortController();
      const close = () => own.abort();
      signal.addEventListener('abort', close, { once: true });
      const stream = open(own.signal);
      let isShared = false;
      try {
        for (;;) {
          const { done, value: item } = await stream.next();
          if (done) return;
          if (isLive(item)) {
            const found = feeds.get(key);
            isShared = !found;
            const feed = found ?? share(key, stream, item, close);
            const reader = attach(feed, item);
            if (reader) {
              signal.removeEventListener('abort', close);
              if (!isShared) abandon(stream);
              watchLag(key, feed, item);
              yield* read(key, feed, reader, signal);
              return;
            }
          }
          yield item;
        }
      } finally {
        signal.removeEventListener('abort', close);
        if (!isShared) abandon(stream);
      }
    },
  };
}

function isBefore(one: FeedItem, other: FeedItem): boolean {
  return compareEventIds(one.eventId, other.eventId) < 0;
}

/** Closes a stream without waiting; its errors no longer matter. */
function abandon(stream: AsyncGenerator): void {
  stream.return(undefined).catch(() => undefined);
}
