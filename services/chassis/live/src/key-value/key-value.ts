/**
 * Short-lived shared facts: caches, counters, announcements. Everything in here may be gone at any time, so nothing
 * that must last belongs here. All replicas of all units see the same values.
 *
 * Keys and channels start with `parley:`, those of a tenant's data with `parley:<tenant id>:`; any other is a bug and
 * throws. Every call rejects with a `DomainError` of kind `unavailable` while the engine cannot be reached.
 */
export interface KeyValue {
  /** The value, or undefined where there is none or its time has passed. */
  get(key: string): Promise<string | undefined>;
  /** Stores the value for `ttlMs` milliseconds, in place of the one before and of its time. */
  set(key: string, value: string, options: { ttlMs: number }): Promise<void>;
  /** Stores the value unless there is one; tells whether it did. Of many at once, exactly one is told true. */
  setIfAbsent(key: string, value: string, options: { ttlMs: number }): Promise<boolean>;
  /** Removes a value or a counter; tells whether there was one. */
  delete(key: string): Promise<boolean>;
  /** Counts all entries or none, in one atomic step and one round trip, whatever their number. */
  countAll(entries: CountEntry[]): Promise<CountAnswer>;
  /**
   * Takes back what was counted, all in one atomic step: no counter goes below 0, and its window ends when it would have. Of a
   * counter whose window has ended nothing is taken; whoever gives back late may so take from the window after it.
   */
  giveBack(entries: Pick<CountEntry, 'key' | 'amount'>[]): Promise<void>;
  /**
   * Tells all who are subscribed now; nobody later. Messages of one publisher on one channel arrive in order, at most
   * once: a subscriber that must miss nothing asks its source again from time to time.
   */
  publish(channel: string, message: string): Promise<void>;
  /**
   * Once resolved, `handler` gets every later message, until the function that it resolves with is called.
   * The handler must not throw; what it throws is logged.
   */
  subscribe(channel: string, handler: (message: string) => void): Promise<Unsubscribe>;
  /** Resolves when the engine answers. */
  ping(): Promise<void>;
  /** Ends this connection and its subscriptions. Later calls reject. */
  close(): Promise<void>;
}

/** Once resolved, the handler is called no more. Calling it again does nothing. */
export type Unsubscribe = () => Promise<void>;

/** One counter of fixed windows. Its window starts with its first count and ends `windowMs` later, counter and all. */
export interface CountEntry {
  key: string;
  /** The most that one window takes. */
  requests: number;
  windowMs: number;
  /** How much this request counts. 0 reads: it starts no window and counts nothing. Entries of one key add up. */
  amount: number;
}

/** A counter as it stands after the step. */
export interface CountWindow {
  key: string;
  requests: number;
  /** How much the window has counted. */
  count: number;
  /** Milliseconds until the window ends; `windowMs` where none has started. */
  endsInMs: number;
}

/**
 * Where an entry would exceed its limit nothing at all is counted, and `refused` is that entry; of several the one
 * whose window ends last, so that waiting for it is enough. `windows` are in the order of the entries.
 */
export type CountAnswer = { counted: true; windows: CountWindow[] } | { counted: false; refused: CountWindow };

/** Throws for a key or channel outside the product's own space. For engines. */
export function checkKey(key: string): void {
  if (!key.startsWith('parley:')) throw new RangeError(`Keys and channels start with "parley:", not as ${key}`);
}

/** Throws for a lifetime that is no positive whole number of milliseconds. For engines. */
export function checkTtl(ttlMs: number): void {
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) throw new RangeError(`ttlMs is a positive integer, not ${ttlMs}`);
}

/** Throws for entries that no window can count. For engines. */
export function checkCountEntries(entries: CountEntry[]): void {
  checkAmounts(entries);
  for (const { key, requests, windowMs } of entries) {
    checkTtl(windowMs);
    if (!Number.isSafeInteger(requests) || requests < 0) throw new RangeError(`${key} cannot take ${requests}`);
  }
}

/** Throws for amounts that can be neither counted nor given back. For engines. */
export function checkAmounts(entries: Pick<CountEntry, 'key' | 'amount'>[]): void {
  for (const { key, amount } of entries) {
    checkKey(key);
    if (!Number.isSafeInteger(amount) || amount < 0) throw new RangeError(`Cannot count ${amount} for ${key}`);
  }
}
