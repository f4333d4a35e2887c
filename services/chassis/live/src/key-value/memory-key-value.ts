import { unavailable } from '@parley/kernel/errors';
import type { Logger } from '@parley/kernel/telemetry/log';
import { gradualSweep } from '@parley/kernel/timing/gradual-sweep';
import {
  type CountAnswer,
  type CountEntry,
  type CountWindow,
  checkAmounts,
  checkCountEntries,
  checkKey,
  checkTtl,
  type KeyValue,
} from './key-value.ts';

export interface MemoryKeyValueOptions {
  /** A monotonic clock in ms. Default: the clock of the process. */
  now?: () => number;
  /** Logs errors of handlers. */
  log?: Logger;
}

/** The key-value engine of one process, shared by all its units. */
export interface MemoryKeyValue extends KeyValue {
  /** Number of stored keys, including expired keys that are not removed yet. */
  readonly size: number;
}

interface Kept {
  value: string;
  expiresAtMs: number;
}

/** Stores everything in memory; later writes remove expired keys. */
export function memoryKeyValue({
  now: clock = () => performance.now(),
  log,
}: MemoryKeyValueOptions = {}): MemoryKeyValue {
  const now = () => Math.floor(clock()); // fractions would make sums and differences inexact
  const kept = new Map<string, Kept>();
  const channels = new Map<string, Set<(message: string) => void>>();
  const sweep = gradualSweep(kept, ({ expiresAtMs }) => expiresAtMs <= now());
  let closed = false;

  function use(key: string): void {
    if (closed) throw unavailable('The key-value store is closed');
    checkKey(key);
  }

  function live(key: string): Kept | undefined {
    const found = kept.get(key);
    if (!found || found.expiresAtMs > now()) return found;
    kept.delete(key);
    return undefined;
  }

  function keep(key: string, value: string, expiresAtMs: number): void {
    kept.set(key, { value, expiresAtMs });
    sweep();
  }

  return {
    get size() {
      return kept.size;
    },

    async get(key) {
      use(key);
      return live(key)?.value;
    },

    async set(key, value, { ttlMs }) {
      use(key);
      checkTtl(ttlMs);
      keep(key, value, now() + ttlMs);
    },

    async setIfAbsent(key, value, { ttlMs }) {
      use(key);
      checkTtl(ttlMs);
      if (live(key)) return false;
      keep(key, value, now() + ttlMs);
      return true;
    },

    async delete(key) {
      use(key);
      return live(key) !== undefined && kept.delete(key);
    },

    // This method is atomic, because it contains no `await`.
    async countAll(entries) {
      if (closed) throw unavailable('The key-value store is closed');
      checkCountEntries(entries);
      const at = now();
      const { answer, counters } = evaluate(entries, at, (key) => live(key));
      if (answer.counted) {
        for (const [key, { count, endsAtMs }] of counters) if (count > 0) keep(key, String(count), endsAtMs);
      }
      return answer;
    },

    async giveBack(entries) {
      if (closed) throw unavailable('The key-value store is closed');
      checkAmounts(entries);
      for (const { key } of entries) counterOf(key, live(key)); // if an entry is not a counter, this throws before any change
      for (const { key, amount } of entries) {
        const found = live(key);
        if (found) found.value = String(Math.max(0, counterOf(key, found) - amount));
      }
    },

    async publish(channel, message) {
      use(channel);
      const handlers = channels.get(channel);
      if (!handlers) return;
      for (const handler of handlers) {
        queueMicrotask(() => {
          if (!handlers.has(handler)) return;
          try {
            handler(message);
          } catch (error) {
            log?.error({ err: error, channel }, 'subscriber failed');
          }
        });
      }
    },

    async subscribe(channel, handler) {
      use(channel);
      const handlers = channels.get(channel) ?? new Set();
      channels.set(channel, handlers);
      const own = (message: string) => handler(message); // the same function may subscribe twice
      handlers.add(own);
      return async () => {
        handlers.delete(own);
        if (handlers.size === 0 && channels.get(channel) === handlers) channels.delete(channel);
      };
    },

    async ping() {
      if (closed) throw unavailable('The key-value store is closed');
    },

    async close() {
      closed = true;
      kept.clear();
      for (const handlers of channels.values()) handlers.clear();
      channels.clear();
    },
  };
}

function counterOf(key: string, found: Kept | undefined): number {
  const count = found ? Number(found.value) : 0;
  if (!Number.isSafeInteger(count)) throw new TypeError(`${key} holds no counter`);
  return count;
}

interface Counter {
  before: number;
  count: number;
  endsAtMs: number;
}

/** Returns the result of counting all entries, without counting them. */
function evaluate(entries: CountEntry[], at: number, find: (key: string) => Kept | undefined) {
  const counters = new Map<string, Counter>();
  for (const { key, windowMs, amount } of entries) {
    const known = counters.get(key);
    if (known) {
      known.count += amount;
      continue;
    }
    const found = find(key);
    const before = counterOf(key, found);
    counters.set(key, { before, count: before + amount, endsAtMs: found?.expiresAtMs ?? at + windowMs });
  }

  const windows: CountWindow[] = [];
  let refused: CountWindow | undefined;
  for (const { key, requests } of entries) {
    const { before, count, endsAtMs } = counters.get(key) ?? { before: 0, count: 0, endsAtMs: at };
    const endsInMs = Math.max(1, endsAtMs - at);
    windows.push({ key, requests, count, endsInMs });
    if (count > requests && (!refused || endsInMs > refused.endsInMs))
      refused = { key, requests, count: before, endsInMs };
  }
  const answer: CountAnswer = refused ? { counted: false, refused } : { counted: true, windows };
  return { answer, counters };
}
