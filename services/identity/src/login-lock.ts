import { createHash } from 'node:crypto';
import type { KeyValue } from '@parley/chassis/key-value/key-value';

/** After so many failures of one identifier from one address, both together are locked. */
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
  /** @throws DomainError `unavailable` while nobody can tell. */
  door(identifier: string, ip: string): Promise<LoginDoor>;
  failed(identifier: string, ip: string): Promise<void>;
  /** The right credential: what this pair got wrong before is forgotten. */
  succeeded(identifier: string, ip: string): Promise<void>;
}

export function loginLock(keyValue: KeyValue): LoginLock {
  const keyOf = (what: string, ...parts: string[]) =>
    `parley:login-${what}:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;

  return {
    async door(identifier, ip) {
      const key = keyOf('failures', identifier);
      const [locked, counted] = await Promise.all([
        keyValue.get(keyOf('lock', identifier, ip)),
        keyValue.countAll([{ key, requests: uncapped, windowMs: hourMs, amount: 0 }]),
      ]);
      if (locked !== undefined) return 'closed';
      const failures = counted.counted ? (counted.windows[0]?.count ?? 0) : 0;
      return failures >= failuresOfIdentifier ? 'known' : 'open';
    },

    async failed(identifier, ip) {
      const counted = await keyValue.countAll([
        { key: keyOf('failures', identifier, ip), requests: uncapped, windowMs: pairLockMs, amount: 1 },
        { key: keyOf('failures', identifier), requests: uncapped, windowMs: hourMs, amount: 1 },
      ]);
      if (counted.counted && (counted.windows[0]?.count ?? 0) >= failuresOfPair) {
        await keyValue.set(keyOf('lock', identifier, ip), '1', { ttlMs: pairLockMs });
      }
    },

    async succeeded(identifier, ip) {
      await keyValue.delete(keyOf('failures', identifier, ip));
    },
  };
}
