import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.ts';

/** Bounds how long a stale answer is used if an announcement is lost. */
const maxAgeMs = 1_000;

/** Caches a service's answers for at most a second and shares requests in flight. */
export interface AnswerCache<Value> {
  find(key: string): Promise<Value> | undefined;
  /** @throws what `ask` threw; failures are not cached. */
  get(key: string, ask: () => Promise<Value>): Promise<Value>;
  set(key: string, pending: Promise<Value>): void;
  /**
   * Removes the answers that `matches` selects; without `matches`, all answers. Pending answers are always removed, because they may be
   * older than the change that caused this call.
   */
  invalidate(matches?: (answer: Value, key: string) => boolean): void;
}

interface Entry<Value> {
  pending: Promise<Value>;
  settled?: { value: Value };
}

export function answerCache<Value>(entries = 20_000): AnswerCache<Value> {
  const cache = new LRUCache<string, Entry<Value>>({ ...atMost(entries), ttl: maxAgeMs });

  // The cache holds the promise itself, so an answer requested before `invalidate` is never stored after it.
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
