import type { Caller } from '@parley/chassis/caller';

/** Who is asking, in a request whose own mutations may change that. */
export interface ChangingCaller {
  /** As it is now. @throws DomainError when the caller's credential holds no more. */
  now(): Promise<Caller>;
  /** What was known may be wrong: whoever comes next asks anew. */
  changed(): void;
}

/** @param ask resolves the caller anew, past all that is remembered. */
export function changingCaller(first: Caller, ask: () => Promise<Caller>): ChangingCaller {
  let current = Promise.resolve(first);
  let isStale = false;
  return {
    now() {
      if (isStale) {
        isStale = false;
        current = ask();
      }
      return current;
    },
    changed() {
      isStale = true;
    },
  };
}
