import { unavailable } from '@parley/kernel/errors';

export interface ConnectionQueueOptions {
  /** Maximum number of concurrent transactions. If it is 2 or more, one place is reserved for urgent transactions. */
  size: number;
}

/** A transaction that waits for a connection. */
export interface Entry {
  /** The owner of the transaction; the queue serves owners round robin. Default: all have the same owner. */
  party?: string;
  /** Urgent transactions are served before all others, and have a reserved place. Default false. */
  isUrgent?: boolean | undefined;
  /** When the signal aborts, the transaction leaves the queue. */
  signal?: AbortSignal | undefined;
  /** Maximum time in ms that the transaction waits while no other transaction is served. */
  maxStallMs: number;
}

/**
 * Call this function when the transaction has ended.
 * @param isAnswered whether the database has responded to the transaction, even with an error
 */
export type Leave = (isAnswered: boolean) => void;

export type ConnectionQueue = ReturnType<typeof connectionQueue>;

interface Waiting {
  isUrgent: boolean;
  maxStallMs: number;
  sinceMs: number;
  begin(): void;
  refuse(error: unknown): void;
}

/**
 * Limits the concurrent transactions on the connections of a pool, or in the one session of the embedded database. A transaction waits as
 * long as the database responds to other transactions, because a busy database will serve it later. When the database has not responded for
 * `maxStallMs`, the transaction is refused.
 */
export function connectionQueue({ size }: ConnectionQueueOptions) {
  const maxUsual = Math.max(1, size - 1);
  const urgent = roundRobin<Waiting>();
  const usual = roundRobin<Waiting>();
  let used = 0;
  let usedByUsual = 0;
  let progressAtMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let watchesAtMs = Number.POSITIVE_INFINITY;

  const hasRoom = (isUrgent: boolean) => used < size && (isUrgent || usedByUsual < maxUsual);

  function begin(isUrgent: boolean): Leave {
    used += 1;
    if (!isUrgent) usedByUsual += 1;
    let isOver = false;
    return (isAnswered) => {
      if (isOver) return;
      isOver = true;
      used -= 1;
      if (!isUrgent) usedByUsual -= 1;
      if (isAnswered) progressAtMs = performance.now();
      beginNext();
    };
  }

  function beginNext(): void {
    for (;;) {
      const next = (hasRoom(true) && urgent.shift()) || (hasRoom(false) && usual.shift());
      if (!next) return;
      next.begin();
    }
  }

  /** Refuses transactions that have waited too long since the database last responded to any transaction. */
  function watchStalls(): void {
    watchesAtMs = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const queue of [urgent, usual]) {
      for (const [waiting, remove] of queue.all()) {
        const leftMs = Math.max(waiting.sinceMs, progressAtMs) + waiting.maxStallMs - now;
        if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
        else {
          remove();
          waiting.refuse(unavailable('The database is not available', new Error('No connection became free')));
        }
      }
    }
    watchWithin(nextMs);
  }

  function watchWithin(ms: number): void {
    const atMs = performance.now() + ms;
    if (atMs >= watchesAtMs) return;
    watchesAtMs = atMs;
    clearTimeout(timer);
    timer = setTimeout(watchStalls, Math.ceil(ms)).unref();
  }

  return {
    /**
     * Waits until the transaction may run; returns synchronously if it may run at once.
     * @throws DomainError `unavailable` if no transaction was served for `maxStallMs`, or if `signal` aborts
     */
    enter({ party = '', isUrgent = false, signal, maxStallMs }: Entry): Leave | Promise<Leave> {
      if (signal?.aborted) throw unavailable('The caller has gone', signal.reason);
      const isFirst = urgent.size === 0 && (isUrgent || usual.size === 0);
      if (isFirst && hasRoom(isUrgent)) return begin(isUrgent);
      const { promise, resolve, reject } = Promise.withResolvers<Leave>();
      const onAbort = () => {
        remove();
        reject(unavailable('The caller has gone', signal?.reason));
      };
      const remove = (isUrgent ? urgent : usual).push(party, {
        isUrgent,
        maxStallMs,
        sinceMs: performance.now(),
        begin() {
          signal?.removeEventListener('abort', onAbort);
          resolve(begin(isUrgent));
        },
        refuse(error) {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      });
      signal?.addEventListener('abort', onAbort);
      watchWithin(maxStallMs);
      return promise;
    },
    get used() {
      return used;
    },
    get waiting() {
      return urgent.size + usual.size;
    },
  };
}

/** Keeps items by party, and serves the parties round robin. */
function roundRobin<Item>() {
  /** Queues by party; the first party is served next. */
  const parties = new Map<string, Set<Item>>();
  let size = 0;

  function remove(party: string, items: Set<Item>, item: Item): void {
    if (!items.delete(item)) return;
    size -= 1;
    if (items.size === 0) parties.delete(party);
  }

  return {
    get size() {
      return size;
    },
    /** @returns a function that removes the item */
    push(party: string, item: Item): () => void {
      const items = parties.get(party) ?? new Set();
      parties.set(party, items.add(item));
      size += 1;
      return () => remove(party, items, item);
    },
    shift(): Item | undefined {
      const [next] = parties;
      if (!next) return undefined;
      const [party, items] = next;
      const [item] = items as Set<Item> & [Item];
      remove(party, items, item);
      parties.delete(party);
      if (items.size > 0) parties.set(party, items);
      return item;
    },
    /** Yields each item with a function that removes it. */
    *all(): Generator<[Item, () => void]> {
      for (const [party, items] of parties) {
        for (const item of items) yield [item, () => remove(party, items, item)];
      }
    },
  };
}
