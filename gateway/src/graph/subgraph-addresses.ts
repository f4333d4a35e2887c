import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface SubgraphAddressesOptions {
  url: string;
  /** Interval in ms at which the name is resolved again while requests arrive. */
  lookupIntervalMs: number;
}

/** The addresses of all processes of one subgraph, used in turn. */
export interface SubgraphAddresses {
  /** Returns the origin for the next request. @throws the error of DNS if the name was never resolved, and the signal's reason */
  next(signal: AbortSignal): Promise<string>;
  /** Skips an origin until the name is resolved again. @returns whether other origins remain */
  skip(origin: string): boolean;
}

/** If the known addresses are older than this many intervals, a request waits for the lookup, for at most `staleWaitMs`. */
const maxAgeIntervals = 3;
const staleWaitMs = 1_000;

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

  /** Looks the name up. Requests that arrive during a lookup wait for that one. */
  function refresh(): Promise<void> {
    running ??= resolveAgain();
    return running;
  }

  return {
    async next(signal) {
      const age = performance.now() - resolvedAt;
      if (known.length === 0) await unlessAborted(refresh(), signal);
      else if (age > lookupIntervalMs) {
        const resolved = refresh();
        const isOld = age > maxAgeIntervals * lookupIntervalMs;
        if (isOld) await unlessAborted(Promise.race([resolved, delay(staleWaitMs, undefined, { ref: false })]), signal);
      }
      const usable = known.filter((each) => !skipped.has(each));
      const choice = usable.length > 0 ? usable : known;
      index = (index + 1) % Math.max(choice.length, 1);
      return choice[index] ?? origin;
    },
    skip(refused) {
      skipped.add(refused);
      return known.some((each) => !skipped.has(each));
    },
  };
}

/** Resolves or rejects as the work does, or rejects with the signal's reason at once; the work itself continues. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
