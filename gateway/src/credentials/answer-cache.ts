import { LRUCache } from 'lru-cache';

/** How long an entry is believed, should an announcement be lost. */
const maxAgeMs = 1_000;

/** Answers of a neighbour, each at most a second old and pending for once, however many want it. */
export interface AnswerCache<Value> {
  /** What is known, or on its way; undefined where it has to be pending for. */
  find(key: string): Promise<Value> | undefined;
  /** @throws what asking threw; that is not remembered. */
  get(key: string, ask: () => Promise<Value>): Promise<Value>;
  /** Takes an entry that is on its way in place of the one before. */
  set(key: string, pending: Promise<Value>): void;
  /**
   * Drops the answers that are meant; without `matches` all. Of one that is still on its way nobody can tell, so it is dropped.
   */
  invalidate(matches?: (answer: Value, key: string) => boolean): void;
}

interface Entry<Value> {
  pending: Promise<Value>;
  /** Set once it is there. */
  settled?: { value: Value };
}

export function answerCache<Value>(): AnswerCache<Value> {
  const cache = new LRUCache<string, Entry<Value>>({ max: 20_000, ttl: maxAgeMs });

  // The promise itself is kept, so that one that began before `invalidate` is never remembered after it.
  function set(key: string, pending: Promise<Value>): void {
    const entry: Entry<Value> = { pending };
    cache.set(key, entry);
    void settle(key, entry);
  }

  async function settle(key: string, entry: Entry<Value>): Promise<void> {
    try {
      entry.settled = { value: await entry.pending };
    } catch {
      if (cache.peek(key) === entry) cache.delete(key);
    }
  }

  return {
    find: (key) => cache.get(key)?.pending,
    get(key, ask) {
      const known = cache.get(key);
      if (known) return known.pending;
      const pending = ask();
      set(key, pending);
      return pending;
    },
    set,
    invalidate(matches) {
      if (!matches) return cache.clear();
      for (const [key, { settled }] of cache.entries()) {
        if (!settled || matches(settled.value, key)) cache.delete(key);
      }
    },
  };
}
