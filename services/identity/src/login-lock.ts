import { createHash } from 'node:crypto';
import { clientNetwork } from '@parley/kernel/client-network';
import type { CountEntry, KeyValue } from '@parley/live/key-value/key-value';

/** After this many failures for one subject from one client network (IPv4 address or IPv6 /64), the pair is locked. */
const failuresOfPair = 10;
const pairLockMs = 15 * 60_000;
/**
 * After this many failures for one subject within an hour, from any network, only networks that the account has used may sign in.
 * Attempts in progress count as failures until they succeed or are cancelled.
 */
const failuresOfSubject = 50;
const hourMs = 60 * 60_000;
/** Counts without refusing. */
const uncapped = Number.MAX_SAFE_INTEGER;

/** `locked`: no sign-in from this network. `knownAddresses`: only from networks that the account has used before. */
export type LockState = 'unlocked' | 'knownAddresses' | 'locked';

export type LoginLock = ReturnType<typeof loginLock>;

/**
 * Limits password guessing without revealing the lock or whether the account exists. A subject is what is guessed at: an account,
 * by whichever email or phone number it was named, or the normalized name if there is no account.
 */
export function loginLock(keyValue: KeyValue) {
  const keyOf = (what: string, ...parts: string[]) =>
    `parley:login-${what}:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;
  const pairKeyOf = (what: string, subject: string, ip: string) => keyOf(what, subject, clientNetwork(ip));
  // Attempts in progress count as tries but not as failures, because only failures set the lock.
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
    /**
     * Counts an attempt against its pair and its subject, before the password is checked: so concurrent guesses cannot exceed a limit
     * (and neither can concurrent correct attempts). Unless the result is `locked`, the caller reports the outcome by one of the methods
     * below.
     * @throws DomainError `unavailable` when the key-value store is unavailable.
     */
    async countAttempt(subject: string, ip: string): Promise<LockState> {
      // Checked before counting, so that attempts during a lock do not extend it.
      if ((await keyValue.get(pairKeyOf('lock', subject, ip))) !== undefined) return 'locked';
      const answer = await keyValue.countAll([ofPair('tries', subject, ip), ofSubject(subject)]);
      if (!answer.counted) return 'locked';
      return (answer.windows[1]?.count ?? 0) > failuresOfSubject ? 'knownAddresses' : 'unlocked';
    },

    /** The credential was wrong. */
    async failed(subject: string, ip: string): Promise<void> {
      const answer = await keyValue.countAll([ofPair('failures', subject, ip)]);
      if (answer.counted && (answer.windows[0]?.count ?? 0) >= failuresOfPair) {
        await keyValue.set(pairKeyOf('lock', subject, ip), '1', { ttlMs: pairLockMs });
      }
    },

    /** The credential was correct: uncounts this attempt and clears the failures and the lock of the pair. */
    async succeeded(subject: string, ip: string): Promise<void> {
      // Concurrent failures may have set the lock.
      await Promise.all([
        ...['tries', 'failures', 'lock'].map((what) => keyValue.delete(pairKeyOf(what, subject, ip))),
        keyValue.giveBack([ofSubject(subject)]),
      ]);
    },

    /** The credential was not checked: uncounts the attempt. */
    cancelled: (subject: string, ip: string) => keyValue.giveBack([ofPair('tries', subject, ip), ofSubject(subject)]),
  };
}
