import { promises as dns } from 'node:dns';
import type { ExecutionContext } from 'ava';

interface Name {
  addresses: string[];
  /** Lookups of the name are answered after this promise has resolved. */
  answered: Promise<void>;
  lookups: number;
}

const names = new Map<string, Name>();
let isPatched = false;

/** Patches `dns.promises.lookup` once, because tests of one process run at the same time. */
function patch(): void {
  if (isPatched) return;
  isPatched = true;
  const { lookup } = dns;
  dns.lookup = (async (host: string, options: never) => {
    const known = names.get(host);
    if (!known) return lookup(host, options);
    known.lookups += 1;
    await known.answered;
    if (known.addresses.length === 0)
      throw Object.assign(new Error(`getaddrinfo EAI_AGAIN ${host}`), { code: 'EAI_AGAIN' });
    return known.addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  }) as never;
}

/** A DNS name that exists in this process alone. The test changes its addresses. Without an address its lookup fails. */
export function changingName(t: Pick<ExecutionContext, 'teardown'>, host: string) {
  patch();
  const name: Name = { addresses: [], lookups: 0, answered: Promise.resolve() };
  names.set(host, name);
  t.teardown(() => names.delete(host));
  let answer = () => undefined as void;
  return {
    set: (...addresses: string[]) => {
      name.addresses = addresses;
      answer();
    },
    /** Lookups get no answer until the next `set`. */
    hang: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      Object.assign(name, { answered: promise });
      answer = resolve;
    },
    /** Number of lookups of the name so far. */
    get lookups() {
      return name.lookups;
    },
  };
}
