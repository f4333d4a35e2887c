import type { SharedDb } from '@parley/chassis/database/types';
import { forbidden, unauthenticated } from '@parley/chassis/errors';
import type { IdentitySettings } from './config.ts';
import { type LiveSignIn, signInStore } from './sign-in-store.ts';
import { type UserCaller, userSuspended } from './signed-in.ts';
import { userStore } from './user-store.ts';

/**
 * Locks the caller's user row until the transaction ends, then requires a live sign-in. A gateway authenticated the caller
 * some time ago: the sign-in may have been revoked or the user suspended since. Whatever does that locks the same row, so it
 * has either committed before this or waits until the caller's change has committed.
 *
 * A transaction that also locks a tenant calls this first: users before tenants, everywhere, so that none deadlock.
 * @throws DomainError `unauthenticated` when the sign-in has been revoked or the user is gone, `forbidden` with `USER_SUSPENDED`.
 */
export async function lockedSignIn(db: SharedDb, { userId, signInId }: UserCaller): Promise<LiveSignIn> {
  const status = await userStore(db).lock(userId);
  if (status === undefined) throw unauthenticated();
  if (status === 'SUSPENDED') throw userSuspended();
  // A statement of its own after the lock: it sees what was committed while this transaction waited.
  const signIn = await signInStore(db).findLive(signInId, userId);
  if (!signIn) throw unauthenticated();
  return signIn;
}

/** Where `REAUTH_MAX_AGE` is set: @throws DomainError `forbidden` with `REAUTHENTICATE` when the sign-in began longer ago. */
export function requireRecent({ ageS }: LiveSignIn, { reauthMaxAgeS }: IdentitySettings): void {
  if (reauthMaxAgeS !== null && ageS > reauthMaxAgeS) {
    throw forbidden('You signed in too long ago for this; sign in again', 'REAUTHENTICATE');
  }
}
