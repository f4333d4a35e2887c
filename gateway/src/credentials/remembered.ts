import { LRUCache } from 'lru-cache';

/** How long an answer is believed, should an announcement be lost. */
const rememberMs = 1_000;

/** Answers of a neighbour, each at most a second old and asked for once, however many want it. */
export interface Remembered<Value> {
  /** What is known, or on its way; undefined where it has to be asked for. */
  find(key: string): Promise<Value> | undefined;
  /** @throws what asking threw; that is not remembered. */
  get(key: string, ask: () => Promise<Value>): Promise<Value>;
  /** Takes an answer that is on its way in place of the one before. */
  put(key: string, asked: Promise<Value>): void;
  /**
   * Drops the answers that are meant; without `isMeant` all. Of one that is still on its way nobody can tell, so it is dropped.
   */
  forget(isMeant?: (answer: Value, key: string) => boolean): void;
}

interface Answer<Value> {
  asked: Promise<Value>;
  /** Set once it is there. */
  known?: { value: Value };
}

export function remembered<Value>(): Remembered<Value> {
  const cache = new LRUCache<string, Answer<Value>>({ max: 20_000, ttl: rememberMs });

  // The promise itself is kept, so that one that began before `forget` is never remembered after it.
  function put(key: string, asked: Promise<Value>): void {
    const answer: Answer<Value> = { asked };
    cache.set(key, answer);
    void arrive(key, answer);
  }

  async function arrive(key: string, answer: Answer<Value>): Promise<void> {
    try {
      answer.known = { value: await answer.asked };
    } catch {
      if (cache.peek(key) === answer) cache.delete(key);
    }
  }

  return {
    find: (key) => cache.get(key)?.asked,
    get(key, ask) {
      const known = cache.get(key);
      if (known) return known.asked;
      const asked = ask();
      put(key, asked);
      return asked;
    },
    put,
    forget(isMeant) {
      if (!isMeant) return cache.clear();
      for (const [key, { known }] of cache.entries()) {
        if (!known || isMeant(known.value, key)) cache.delete(key);
      }
    },
  };
}
