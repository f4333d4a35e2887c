import type { Caller } from '@parley/chassis/caller';
import type { RootField } from '../graph/root-fields.ts';

/** Who is asking, in a request whose own mutations may change that. */
export interface ChangingCaller {
  /**
   * As it is now, held to what these fields of the request need; none are of those that were asked for last.
   * @throws DomainError when the caller's credential does not hold any more, or not for them.
   */
  now(fields: () => RootField[]): Promise<Caller>;
  /** What was known may be wrong: whoever comes next asks anew. */
  changed(): void;
}

export interface ChangingCallerOptions {
  /** As it was when the request came, and all that it asks for. */
  first: Caller;
  fields: RootField[];
  /** Resolves the caller of these fields. */
  ask: (fields: RootField[]) => Promise<Caller>;
  /** Drops what is remembered, so that it is asked anew. */
  forget: () => void;
}

export function changingCaller({ first, fields: all, ask, forget }: ChangingCallerOptions): ChangingCaller {
  let current = Promise.resolve(first);
  let hasChanged = false;
  let isStale = false;
  return {
    now(fieldsOf) {
      if (!hasChanged) return current; // all fields have been held to it
      const fields = fieldsOf();
      if (fields.length === 0 && !isStale) return current;
      if (isStale) forget();
      isStale = false;
      current = ask(fields.length > 0 ? fields : all);
      return current;
    },
    changed() {
      hasChanged = true;
      isStale = true;
    },
  };
}
