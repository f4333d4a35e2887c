import { createHash } from 'node:crypto';
import { clientNetwork } from '@parley/kernel/http/client-network';
import type { CountEntry, KeyValue } from '@parley/live/key-value/key-value';

/** Number of failures for one subject from one client network (IPv4 address or IPv6 /64) after which the pair is locked. */
const failuresOfPair = 10;
const pairLockMs = 15 * 60_000;
/**
 * Number of attempts for one subject in an hour, failed or in progress, after which sign-ins are allowed only from networks that the
 * account has used before.
 */
const failuresOfSubject = 50;
const hourMs = 60 * 60_000;
const uncapped = Number.MAX_SAFE_INTEGER;

/** `locked`: no sign-in from this network. `knownAddresses`: only from networks that the account has used before. */
export type LockState = 'unlocked' | 'knownAddresses' | 'locked';

export type LoginLock = ReturnType<typeof loginLock>;

/** Limits password guessing. A subject is the account or name whose password is guessed; see `subjectOf` in `login.ts`. */
export function loginLock(keyValue: KeyValue) {
  const keyOf = (what: string, ...parts: string[]) =>
    `parley:login-${what}:${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`;
  const pairKeyOf = (what: string, subject: string, ip: string) => keyOf(what, subject, clientNetwork(ip));
  // `tries` include attempts in progress; `failures` do not, because only failures set the lock.
  const ofPair = (what: 'tries' | 'failures', subject: string, ip: string): CountEntry => ({
    key: pairKeyOf(what, subject, ip),
    requests: what === 'tries' ? failuresOfPair : uncapped,
    windowMs: pairLockMs,
    amount: 1,
  });
  const ofSubject = (what: 'tries' | 'failures', subject: string): CountEntry => ({
    key: keyOf(what, subject),
    requests: uncapped,
    windowMs: hourMs,
    amount: 1,
  });

  return {
    /**
     * Counts an attempt before its password is checked, so that concurrent guesses cannot exceed a limit. If the result is not `locked`,
     * the caller must report the outcome with `failed`, `succeeded` or `cancelled`.
     * @throws DomainError `unavailable` if the key-value store is unavailable
     */
    async countAttempt(subject: string, ip: string): Promise<LockState> {
      // The lock is checked before counting, so that attempts during a lock do not extend it.
      if ((await keyValue.get(pairKeyOf('lock', subject, ip))) !== undefined) return 'locked';
      const answer = await keyValue.countAll([ofPair('tries', subject, ip), ofSubject('tries', subject)]);
      if (!answer.counted) return 'locked';
      return (answer.windows[1]?.count ?? 0) > failuresOfSubject ? 'knownAddresses' : 'unlocked';
    },

    /**
     * Call when the credential was wrong. `shouldNotify`: so many attempts have failed that the owner should be
     * notified; true at most once an hour.
     */
    async failed(subject: string, ip: string): Promise<{ shouldNotify: boolean }> {
      const answer = await keyValue.countAll([ofPair('failures', subject, ip), ofSubject('failures', subject)]);
      const [pair = 0, all = 0] = answer.counted ? answer.windows.map(({ count }) => count) : [];
      if (pair >= failuresOfPair) await keyValue.set(pairKeyOf('lock', subject, ip), '1', { ttlMs: pairLockMs });
      if (all < failuresOfSubject) return { shouldNotify: false };
      return { shouldNotify: await keyValue.setIfAbsent(keyOf('told', subject), '1', { ttlMs: hourMs }) };
    },

    async succeeded(subject: string, ip: string): Promise<void> {
      await Promise.all([
        ...['tries', 'failures', 'lock'].map((what) => keyValue.delete(pairKeyOf(what, subject, ip))),
        keyValue.giveBack([ofSubject('tries', subject)]),
      ]);
    },

    /** Call when the credential was not checked: the attempt no longer counts. */
    cancelled: (subject: string, ip: string) =>
      keyValue.giveBack([ofPair('tries', subject, ip), ofSubject('tries', subject)]),
  };
}
