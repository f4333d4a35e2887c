import type { Caller } from '@parley/kernel/caller';
import type { RootField } from '../graph/root-fields.ts';

/** The caller of a request. The request's own mutations may change who the caller is. */
export interface CurrentCaller {
  /** Authorizes these fields; an empty list stands for `_entities`. @throws DomainError when the credential does not allow them. */
  get(fields: () => RootField[]): Promise<Caller>;
  markStale(): void;
  /** Lists every caller that the request has had so far. */
  seen(): Iterable<Caller>;
}

export interface CurrentCallerOptions {
  first: Caller;
  fields: RootField[];
  ask: (fields: RootField[]) => Promise<Caller>;
  invalidate: (caller: Caller) => void;
}

export function createCurrentCaller({ first, fields: all, ask, invalidate }: CurrentCallerOptions): CurrentCaller {
  const seen = [first];
  let current = Promise.resolve(first);
  let hasChanged = false;
  let isStale = false;
  return {
    get(fieldsOf) {
      if (!hasChanged) return current; // the caller is already authorized for all fields
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
