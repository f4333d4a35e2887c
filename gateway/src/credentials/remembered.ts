import { LRUCache } from 'lru-cache';

/** How long an answer is believed, should an announcement be lost. */
const rememberMs = 1_000;

/** Answers of a neighbour, each at most a second old and asked for once, however many want it. */
export interface Remembered<Value> {
  /** @throws what asking threw; that is not remembered. */
  get(key: string, ask: () => Promise<Value>): Promise<Value>;
  /** Takes an answer that is on its way in place of the one before. */
  put(key: string, asked: Promise<Value>): void;
  forget(): void;
}

export function remembered<Value>(): Remembered<Value> {
  const cache = new LRUCache<string, Promise<Value>>({ max: 20_000, ttl: rememberMs });

  // The promise itself is kept, so that one that began before `forget` is never remembered after it.
  function put(key: string, asked: Promise<Value>): void {
    cache.set(key, asked);
    asked.catch(() => {
      if (cache.peek(key) === asked) cache.delete(key);
    });
  }

  return {
    get(key, ask) {
      const known = cache.get(key);
      if (known) return known;
      const asked = ask();
      put(key, asked);
      return asked;
    },
    put,
    forget: () => cache.clear(),
  };
}
