import { createHash } from 'node:crypto';
import { clientNetwork } from '@parley/chassis/client-network';
import type { CountEntry, KeyValue } from '@parley/chassis/key-value/key-value';

/** After so many failures of one identifier from one address, or for IPv6 from its /64, both together are locked. */
const failuresOfPair = 10;
const pairLockMs = 15 * 60_000;
/** After so many failures of one identifier in an hour, over all addresses, only addresses that its account has used get in. */
const failuresOfIdentifier = 50;
const hourMs = 60 * 60_000;
/** Counting itself refuses nothing: failures have happened already. */
const uncapped = Number.MAX_SAFE_INTEGER;

/** `closed`: nobody gets in. `known`: only from where the account has signed in before. */
export type LoginDoor = 'open' | 'known' | 'closed';

/** Slows down who guesses passwords, without telling them so, and whether the account is there or not. */
export interface LoginLock {
  /**
   * Counts an attempt against its pair before anything is tried, so that no number of guesses at once gets past the limit;
   * of more than ten right ones at once from one address the others find the door closed as well.
   * @throws DomainError `unavailable` while nobody can tell.
   */
  door(identifier: string, ip: string): Promise<LoginDoor>;
  /** The attempt, which was let in, was wrong. */
  failed(identifier: string, ip: string): Promise<void>;
  /** The right credential: what this pair got wrong before is forgotten. */
  succeeded(identifier: string, ip: string): Promise<void>;
}

export function loginLock(keyValue: KeyValue): LoginLock {
  const keyOf = (what: string, ...parts: string[]) =>
    `parley:login-${what}:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;
  const pairKeyOf = (what: string, identifier: string, ip: string) => keyOf(what, identifier, clientNetwork(ip));
  const ofPair = (identifier: string, ip: string, amount: number): CountEntry => ({
    key: pairKeyOf('failures', identifier, ip),
    requests: failuresOfPair,
    windowMs: pairLockMs,
    amount,
  });
  const ofIdentifier = (identifier: string, amount: number): CountEntry => ({
    key: keyOf('failures', identifier),
    requests: uncapped,
    windowMs: hourMs,
    amount,
  });

  return {
    async door(identifier, ip) {
      // Before the count: what comes while the lock holds must not make the next one.
      if ((await keyValue.get(pairKeyOf('lock', identifier, ip))) !== undefined) return 'closed';
      const answer = await keyValue.countAll([ofPair(identifier, ip, 1), ofIdentifier(identifier, 0)]);
      if (!answer.counted) return 'closed';
      return (answer.windows[1]?.count ?? 0) >= failuresOfIdentifier ? 'known' : 'open';
    },

    async failed(identifier, ip) {
      const answer = await keyValue.countAll([ofPair(identifier, ip, 0), ofIdentifier(identifier, 1)]);
      if (answer.counted && (answer.windows[0]?.count ?? 0) >= failuresOfPair) {
        await keyValue.set(pairKeyOf('lock', identifier, ip), '1', { ttlMs: pairLockMs });
      }
    },

    async succeeded(identifier, ip) {
      // The lock too: a wrong attempt beside this one may have set it, having counted this one.
      await Promise.all(['failures', 'lock'].map((what) => keyValue.delete(pairKeyOf(what, identifier, ip))));
    },
  };
}
