import { promises as dns, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { unlessAborted } from '@parley/kernel/timing/abort';

export interface SubgraphAddressesOptions {
  url: string;
  /** Interval in ms at which the host name in `url` is resolved again while requests arrive. */
  lookupIntervalMs: number;
  /** Time in ms for which an address is skipped after it could not be connected to. Then one request tries it again. Default 2,000. */
  skipMs?: number;
  /** Returns the time in ms. Default: `performance.now`. */
  now?: () => number;
}

/** An address that was chosen for one request. The request calls exactly one of the functions to report its result. */
export interface ChosenAddress {
  readonly origin: string;
  /** The process responded. */
  responded(): void;
  /** The request ended without a response. */
  failed(): void;
  /** No connection was opened, so the address is skipped for a while. @returns whether addresses remain that are not skipped */
  skip(): boolean;
}

/** The addresses of all processes of one subgraph. */
export interface SubgraphAddresses {
  /**
   * Chooses the address with the fewest requests in flight. So a process that hangs gets new requests only if all others have as many in
   * flight.
   * @throws the error of DNS if the name was never resolved; the reason of `signal`
   */
  choose(signal: AbortSignal): Promise<ChosenAddress>;
}

interface Address {
  origin: string;
  inFlight: number;
  /** The time, as of `now`, until which the address is skipped; undefined if it is not skipped. */
  skippedUntil?: number | undefined;
}

/** After this many lookup intervals, the known addresses are so old that a request waits for the next lookup, but at most `staleWaitMs`. */
const maxAgeIntervals = 3;
const staleWaitMs = 1_000;
/** The pause after a failed lookup of a name that was never resolved. */
const failurePauseMs = 200;

/**
 * Balances requests over all addresses of a host name. A pool of connections to the name cannot do this: the pool opens as few connections
 * as possible, and a Kubernetes Service chooses a process for each connection at random. If a lookup of the name fails, the last addresses
 * remain in use.
 */
export function subgraphAddresses({
  url,
  lookupIntervalMs,
  skipMs = 2_000,
  now = () => performance.now(),
}: SubgraphAddressesOptions): SubgraphAddresses {
  const { origin, protocol, hostname, port } = new URL(url);
  const name = hostname.replaceAll(/^\[|\]$/gu, '');
  const isName = isIP(name) === 0;
  let known: Address[] = isName ? [] : [{ origin, inFlight: 0 }];
  let resolvedAt = Number.NEGATIVE_INFINITY;
  let failure: Error | undefined;
  let running: Promise<void> | undefined;
  /** Where the search for the least busy address begins, so that equally busy ones are used in rotation. */
  let first = 0;

  /** Addresses with a zone, such as those of link-local interfaces, cannot be part of a URL and are omitted. */
  function originsOf(addresses: LookupAddress[]): string[] {
    const urls = addresses.map(
      ({ address, family }) => `${protocol}//${family === 6 ? `[${address}]` : address}${port && `:${port}`}`,
    );
    return [...new Set(urls.filter((each) => URL.canParse(each)).map((each) => new URL(each).origin))];
  }

  async function resolveAgain(): Promise<void> {
    try {
      const origins = originsOf(await dns.lookup(name, { all: true }));
      const before = new Map(known.map((each) => [each.origin, each]));
      if (origins.length > 0) known = origins.map((each) => before.get(each) ?? { origin: each, inFlight: 0 });
      failure = undefined;
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      if (known.length === 0) throw error;
    } finally {
      resolvedAt = now();
      running = undefined;
    }
  }

  /** Looks up the name. Requests that arrive during a lookup wait for its result. */
  function refresh(): Promise<void> {
    running ??= resolveAgain();
    return running;
  }

  async function refreshIfDue(signal: AbortSignal): Promise<void> {
    const age = now() - resolvedAt;
    if (known.length === 0) {
      if (failure && age < failurePauseMs) throw failure;
      await unlessAborted(refresh(), signal);
    } else if (isName && age > lookupIntervalMs) {
      const resolved = refresh();
      const isOld = age > maxAgeIntervals * lookupIntervalMs;
      if (isOld) await unlessAborted(Promise.race([resolved, delay(staleWaitMs)]), signal);
    }
  }

  function pick(): Address {
    const time = now();
    const due = known.find(({ skippedUntil }) => skippedUntil !== undefined && skippedUntil <= time);
    if (due) {
      due.skippedUntil = time + skipMs; // other requests skip the address until this request has succeeded
      return due;
    }
    first += 1;
    const rotated = known.map((_, n) => known[(first + n) % known.length] as Address);
    const usable = rotated.filter(({ skippedUntil }) => skippedUntil === undefined);
    return (usable.length > 0 ? usable : rotated).reduce((best, each) => (each.inFlight < best.inFlight ? each : best));
  }

  return {
    async choose(signal) {
      await refreshIfDue(signal);
      const address = known.length > 0 ? pick() : { origin, inFlight: 0 };
      address.inFlight += 1;
      return {
        origin: address.origin,
        responded() {
          address.inFlight -= 1;
          address.skippedUntil = undefined;
        },
        failed() {
          address.inFlight -= 1;
        },
        skip() {
          address.inFlight -= 1;
          address.skippedUntil = now() + skipMs;
          return known.some(({ skippedUntil }) => skippedUntil === undefined);
        },
      };
    },
  };
}
