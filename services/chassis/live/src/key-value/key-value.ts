/**
 * Short-lived shared state: caches, counters, announcements. All of it may be lost at any time, so do not store anything that must last.
 * All replicas of all units see the same values. Keys and channels start with `parley:`; for a tenant's data they start with
 * `parley:<tenant id>:`. Any other key is a bug and throws. Every call rejects with a `DomainError` of kind `unavailable` while the engine
 * cannot be reached.
 */
export interface KeyValue {
  /** Returns the value; undefined if there is none or it has expired. */
  get(key: string): Promise<string | undefined>;
  /** Stores the value for `ttlMs` milliseconds. Replaces an earlier value and its time to live. */
  set(key: string, value: string, options: { ttlMs: number }): Promise<void>;
  /**
   * Stores the value unless the key has one. Resolves to true if the value was stored: exactly one of several concurrent calls gets true.
   */
  setIfAbsent(key: string, value: string, options: { ttlMs: number }): Promise<boolean>;
  /** Removes a value or a counter. Resolves to true if the key existed. */
  delete(key: string): Promise<boolean>;
  /** Counts all entries or none, atomically and in one round trip. */
  countAll(entries: CountEntry[]): Promise<CountAnswer>;
  /**
   * Subtracts amounts that were counted, atomically: no counter goes below 0, and the window of a counter does not change. If the window
   * has ended, a call changes nothing, or subtracts from the counter's next window if that has started.
   */
  giveBack(entries: Pick<CountEntry, 'key' | 'amount'>[]): Promise<void>;
  /**
   * Publishes to current subscribers. Messages of one publisher on one channel arrive in order, at most once. A subscriber that must not
   * miss a message also queries its source periodically.
   */
  publish(channel: string, message: string): Promise<void>;
  /**
   * Once the promise has resolved, `handler` gets every later message, until the returned function is called. Errors of the handler are
   * logged.
   */
  subscribe(channel: string, handler: (message: string) => void): Promise<Unsubscribe>;
  /** Resolves when the engine responds. */
  ping(): Promise<void>;
  /** Closes the store and its subscriptions. Later calls reject. */
  close(): Promise<void>;
}

/** Unsubscribes: once the promise has resolved, the handler is not called again. Idempotent. */
export type Unsubscribe = () => Promise<void>;

/** A counter with fixed windows. A window starts with its first count and ends `windowMs` later; the counter ends with its window. */
export interface CountEntry {
  key: string;
  /** The maximum count in one window. */
  requests: number;
  windowMs: number;
  /** The amount to count. With 0 the count is only read, and no window starts. Amounts for the same key are added up. */
  amount: number;
}

/** A counter after the call. */
export interface CountWindow {
  key: string;
  requests: number;
  /** The count of the window. */
  count: number;
  /** Milliseconds until the window ends; `windowMs` if none has started. */
  endsInMs: number;
}

/**
 * When an entry would exceed its limit, nothing is counted, and `refused` is that entry. If several entries would exceed their limits,
 * `refused` is the one whose window ends last, so that waiting for this window is enough. `windows` are in the order of the entries.
 */
export type CountAnswer = { counted: true; windows: CountWindow[] } | { counted: false; refused: CountWindow };

/** Throws for a key or channel without the required prefix. Engines call this function. */
export function checkKey(key: string): void {
  if (!key.startsWith('parley:')) throw new RangeError(`Keys and channels start with "parley:", not as ${key}`);
}

/** Throws for a time to live that is not a positive whole number of milliseconds. Engines call this function. */
export function checkTtl(ttlMs: number): void {
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) throw new RangeError(`ttlMs is a positive integer, not ${ttlMs}`);
}

/** Throws for entries that no window can count. Engines call this function. */
export function checkCountEntries(entries: CountEntry[]): void {
  checkAmounts(entries);
  for (const { key, requests, windowMs } of entries) {
    checkTtl(windowMs);
    if (!Number.isSafeInteger(requests) || requests < 0) throw new RangeError(`${key} cannot take ${requests}`);
  }
}

/** Throws for amounts that can be neither counted nor given back. Engines call this function. */
export function checkAmounts(entries: Pick<CountEntry, 'key' | 'amount'>[]): void {
  for (const { key, amount } of entries) {
    checkKey(key);
    if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`Cannot count ${amount} for ${key}`);
  }
}
