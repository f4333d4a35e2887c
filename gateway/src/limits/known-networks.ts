import { createHmac, hkdfSync } from 'node:crypto';
import { isDomainError } from '@parley/kernel/errors';
import type { KeyRing } from '@parley/kernel/secrets/key-ring';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';

const dayMs = 86_400_000;
const rememberedMs = 30 * dayMs;
/** A network that was stored within this time is not stored again. */
const freshMs = dayMs;

export interface KnownNetworksOptions {
  keyValue: Pick<KeyValue, 'get' | 'set'>;
  /** The first key makes the MACs that hide the addresses. After a key rotation all networks count as new. */
  ring: KeyRing;
  log: Logger;
  /** Returns the time in milliseconds since the epoch. Default: `Date.now`. */
  now?: () => number;
}

/** A client network, as found before an attempt to sign in. */
export interface FoundNetwork {
  isKnown: boolean;
  /** Stores in the background that a sign-in succeeded. Writes only if the stored time is absent or old. Never throws. */
  signedIn(): void;
}

export type KnownNetworks = ReturnType<typeof knownNetworks>;

/**
 * Client networks from which a sign-in succeeded in the last 30 days, shared by all gateways. A network is stored under its MAC, because a
 * plain hash of an IPv4 address can be guessed. No account is stored with the network. While the store is unavailable, each network counts
 * as new.
 */
export function knownNetworks({ keyValue, ring, log, now = Date.now }: KnownNetworksOptions) {
  const [first] = ring;
  if (!first) throw new Error('the ring has no key');
  const secret = Buffer.from(hkdfSync('sha256', first.key, '', 'parley known networks', 32));
  const keyOf = (network: string) =>
    `parley:known-network:${createHmac('sha256', secret).update(network).digest('base64url')}`;

  function ignored(error: unknown): undefined {
    // The outage of the store is already logged, because throttles use the same store.
    if (!isDomainError(error, 'unavailable')) log.warn({ err: error }, 'known networks not read or stored');
  }

  return {
    /** Looks up a network with one read of the store. @param network the result of `clientNetwork` */
    async find(network: string): Promise<FoundNetwork> {
      if (network === 'unknown') return { isKnown: false, signedIn: () => undefined };
      const key = keyOf(network);
      const found = await keyValue.get(key).catch(ignored);
      return {
        isKnown: found !== undefined,
        signedIn() {
          if (found !== undefined && now() - Number(found) < freshMs) return;
          keyValue.set(key, String(now()), { ttlMs: rememberedMs }).catch(ignored);
        },
      };
    },
  };
}
