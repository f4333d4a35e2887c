import { createHash } from 'node:crypto';
import { clientNetwork } from '@parley/kernel/client-network';
import type { CountEntry, KeyValue } from '@parley/live/key-value/key-value';

/** After so many failures of one subject from one address, or for IPv6 from its /64, both together are locked. */
const failuresOfPair = 10;
const pairLockMs = 15 * 60_000;
/**
 * After so many failures of one subject in an hour, over all addresses, only addresses that its account has used get in.
 * Attempts under way count until they turn out right.
 */
const failuresOfSubject = 50;
const hourMs = 60 * 60_000;
/** What is counted past every limit. */
const uncapped = Number.MAX_SAFE_INTEGER;

/** `closed`: nobody gets in. `known`: only from where the account has signed in before. */
export type LoginDoor = 'open' | 'known' | 'closed';

/**
 * Slows down who guesses passwords, without telling them so, and whether the account is there or not. A subject is what is
 * guessed at: an account, however it is named, or the one name of an account that is not there.
 */
export interface LoginLock {
  /**
   * Counts an attempt, against its pair and its subject, before anything is tried, so that no number of guesses at once gets
   * past a limit; of more right ones at once than a limit takes the others are held back as well. Whoever found the door not
   * closed tells one of the three below how it went.
   * @throws DomainError `unavailable` while nobody can tell.
   */
  door(subject: string, ip: string): Promise<LoginDoor>;
  /** The attempt, which was let in, was wrong. */
  failed(subject: string, ip: string): Promise<void>;
  /** The right credential: this attempt and what the pair got wrong before are forgotten. */
  succeeded(subject: string, ip: string): Promise<void>;
  /** Nobody looked at the password in the end: this attempt never was. */
  untried(subject: string, ip: string): Promise<void>;
}

export function loginLock(keyValue: KeyValue): LoginLock {
  const keyOf = (what: string, ...parts: string[]) =>
    `parley:login-${what}:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;
  const pairKeyOf = (what: string, subject: string, ip: string) => keyOf(what, subject, clientNetwork(ip));
  // Attempts under way are among the tries and not among the failures: only what was wrong locks.
  const ofPair = (what: 'tries' | 'failures', subject: string, ip: string): CountEntry => ({
    key: pairKeyOf(what, subject, ip),
    requests: what === 'tries' ? failuresOfPair : uncapped,
    windowMs: pairLockMs,
    amount: 1,
  });
  const ofSubject = (subject: string): CountEntry => ({
    key: keyOf('tries', subject),
    requests: uncapped,
    windowMs: hourMs,
    amount: 1,
  });

  return {
    async door(subject, ip) {
      // Before the count: what comes while the lock holds must not make the next one.
      if ((await keyValue.get(pairKeyOf('lock', subject, ip))) !== undefined) return 'closed';
      const answer = await keyValue.countAll([ofPair('tries', subject, ip), ofSubject(subject)]);
      if (!answer.counted) return 'closed';
      return (answer.windows[1]?.count ?? 0) > failuresOfSubject ? 'known' : 'open';
    },

    async failed(subject, ip) {
      const answer = await keyValue.countAll([ofPair('failures', subject, ip)]);
      if (answer.counted && (answer.windows[0]?.count ?? 0) >= failuresOfPair) {
        await keyValue.set(pairKeyOf('lock', subject, ip), '1', { ttlMs: pairLockMs });
      }
    },

    async succeeded(subject, ip) {
      // The lock too: wrong attempts that ended beside this one may have set it.
      await Promise.all([
        ...['tries', 'failures', 'lock'].map((what) => keyValue.delete(pairKeyOf(what, subject, ip))),
        keyValue.giveBack([ofSubject(subject)]),
      ]);
    },

    untried: (subject, ip) => keyValue.giveBack([ofPair('tries', subject, ip), ofSubject(subject)]),
  };
}
