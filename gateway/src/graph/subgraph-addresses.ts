import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';

export interface SubgraphAddressesOptions {
  url: string;
  /** Interval in ms at which the name is resolved again while requests arrive. */
  lookupIntervalMs: number;
}

/** The addresses of all processes of one subgraph, used in turn. */
export interface SubgraphAddresses {
  /** Returns the origin for the next request. @throws the error of DNS if the name was never resolved */
  next(): Promise<string>;
  /** Skips an origin until the name is resolved again. @returns whether other origins remain */
  skip(origin: string): boolean;
}

/** After this many intervals the known addresses are too old for a request that could wait for the lookup. */
const maxAgeIntervals = 3;

/**
 * Balances requests over the addresses of a name. A pool of connections to one address cannot: it prefers few connections, and a
 * Service chooses a process for each connection at random. If a lookup fails, the last addresses remain in use.
 */
export function subgraphAddresses({ url, lookupIntervalMs }: SubgraphAddressesOptions): SubgraphAddresses {
  const { origin, protocol, hostname, port } = new URL(url);
  const name = hostname.replaceAll(/^\[|\]$/gu, '');
  if (isIP(name) !== 0) return { next: async () => origin, skip: () => false };

  let known: string[] = [];
  let resolvedAt = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let index = 0;
  const skipped = new Set<string>();
  const originOf = ({ address, family }: LookupAddress) =>
    new URL(`${protocol}//${family === 6 ? `[${address}]` : address}${port && `:${port}`}`).origin;

  async function resolveAgain(): Promise<void> {
    try {
      known = [...new Set((await dns.lookup(name, { all: true })).map(originOf))];
      skipped.clear();
    } catch (error) {
      if (known.length === 0) throw error;
    } finally {
      resolvedAt = performance.now();
      running = undefined;
    }
  }

  /** Requests during a lookup share it. */
  function refresh(): Promise<void> {
    running ??= resolveAgain();
    return running;
  }

  return {
    async next() {
      const age = performance.now() - resolvedAt;
      if (known.length === 0 || age > maxAgeIntervals * lookupIntervalMs) await refresh();
      else if (age > lookupIntervalMs) void refresh();
      const usable = known.filter((each) => !skipped.has(each));
      const choice = usable.length > 0 ? usable : known;
      index = (index + 1) % choice.length;
      return choice[index] ?? origin;
    },
    skip(refused) {
      skipped.add(refused);
      return known.some((each) => !skipped.has(each));
    },
  };
}
