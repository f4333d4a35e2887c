import type { CallerRequest } from '@parley/kernel/caller-request';
import { forbidden, unauthenticated } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import { userStore } from '../accounts/user-store.ts';
import type { IdentitySettings } from '../config.ts';
import type { Ports } from '../ports.ts';
import { type LiveSignIn, signInStore } from './sign-in-store.ts';
import { signedIn, userSuspended } from './signed-in.ts';

interface LockOptions {
  /** The tenant whose row `work` locks, if any. */
  tenantId?: number;
  /** Whether `work` also runs for a sign-in that has not shown its second factor or proved its email. Default false. */
  whileLimited?: boolean;
}

/**
 * Runs `work` in a transaction that has locked the caller's user row and checked the sign-in again. Revocation and suspension lock the same
 * row, so they have either committed before or wait for this transaction. User rows are locked before tenant rows, to prevent deadlocks.
 * @throws DomainError `unauthenticated` if the caller is not a user, the sign-in was revoked or the user deleted
 * @throws DomainError `forbidden` with `USER_SUSPENDED`, or with the reason why the sign-in is limited
 */
export async function withLockedSignIn<T>(
  { database }: Ports,
  { caller, signal }: CallerRequest,
  work: (db: SharedDb, signIn: LiveSignIn) => Promise<T>,
  { tenantId, whileLimited = false }: LockOptions = {},
): Promise<T> {
  const { userId, signInId } = signedIn(caller);
  const locked = async (db: SharedDb) => {
    const status = await userStore(db).lock(userId);
    if (status === undefined) throw unauthenticated();
    if (status === 'SUSPENDED') throw userSuspended();
    // A separate statement reads the sign-in after the lock, so that it sees what was committed while this transaction waited.
    const signIn = await signInStore(db).findLive(signInId, userId);
    if (!signIn) throw unauthenticated();
    if (!whileLimited) requireComplete(signIn);
    return work(db, signIn);
  };
  // All changes of one user or tenant are made one after another, so that they hold at most one connection of the pool in each process.
  return database.transactShared(locked, { lockQueue: { user: userId, tenant: tenantId }, signal });
}

export function requireComplete({ limitedReason }: LiveSignIn): void {
  if (limitedReason !== null) throw forbidden('This sign-in is not complete yet', limitedReason);
}

/**
 * Requires a recent sign-in if `REAUTH_MAX_AGE` is set.
 * @throws DomainError `forbidden` with `REAUTHENTICATE` if the sign-in is older than `REAUTH_MAX_AGE`
 */
export function requireRecent({ ageS }: LiveSignIn, { reauthMaxAgeS }: IdentitySettings): void {
  if (reauthMaxAgeS !== null && ageS > reauthMaxAgeS) {
    throw forbidden('You signed in too long ago for this; sign in again', 'REAUTHENTICATE');
  }
}
