import type { Caller } from '@parley/chassis/caller';
import type { RootField } from '../graph/root-fields.ts';

/** Who is asking, in a request whose own mutations may change that. */
export interface CurrentCaller {
  /**
   * As it is now, held to what these fields of the request need; none are of those that were asked for last.
   * @throws DomainError when the caller's credential does not hold any more, or not for them.
   */
  get(fields: () => RootField[]): Promise<Caller>;
  /** What was known may be wrong: whoever comes next asks anew. */
  markStale(): void;
  /** Everybody that it has been so far. */
  seen(): Iterable<Caller>;
}

export interface CurrentCallerOptions {
  /** As it was when the request came, and all that it asks for. */
  first: Caller;
  fields: RootField[];
  /** Resolves the caller of these fields. */
  ask: (fields: RootField[]) => Promise<Caller>;
  /** Drops what is remembered of a caller, so that it is asked anew. */
  invalidate: (caller: Caller) => void;
}

export function createCurrentCaller({ first, fields: all, ask, invalidate }: CurrentCallerOptions): CurrentCaller {
  const seen = [first];
  let current = Promise.resolve(first);
  let hasChanged = false;
  let isStale = false;
  return {
    get(fieldsOf) {
      if (!hasChanged) return current; // all fields have been held to it
      const fields = fieldsOf();
      if (fields.length === 0 && !isStale) return current;
      if (isStale) for (const caller of seen) invalidate(caller);
      isStale = false;
      current = ask(fields.length > 0 ? fields : all).then((caller) => {
        seen.push(caller);
        return caller;
      });
      return current;
    },
    markStale() {
      hasChanged = true;
      isStale = true;
    },
    seen: () => seen,
  };
}
