import { forbidden, unauthenticated } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import type { IdentitySettings } from './config.ts';
import type { Ports } from './ports.ts';
import { type LiveSignIn, signInStore } from './sign-in-store.ts';
import { type UserCaller, userSuspended } from './signed-in.ts';
import { userStore } from './user-store.ts';

/**
 * Runs `work` in a transaction that holds the caller's user row, with the sign-in, which is required to live. A gateway
 * authenticated the caller some time ago: the sign-in may have been revoked or the user suspended since. Whatever does that locks
 * the same row, so it has either committed before this or waits until the caller's change has committed.
 *
 * Of one user's changes one at a time takes a connection.
 * @param tenantId of a tenant that `work` locks as well, whose changes then take turns too. Users are locked before tenants,
 * everywhere, so that none deadlock.
 * @param gone aborted when nobody waits for the answer any more.
 * @throws DomainError `unauthenticated` when the sign-in has been revoked or the user is gone, `forbidden` with `USER_SUSPENDED`.
 */
export async function withLockedSignIn<T>(
  { database }: Pick<Ports, 'database'>,
  { caller, gone, tenantId }: { caller: UserCaller; gone: AbortSignal | undefined; tenantId?: number },
  work: (db: SharedDb, signIn: LiveSignIn) => Promise<T>,
): Promise<T> {
  return database.transactShared(async (db) => work(db, await lockedSignIn(db, caller)), {
    turn: { user: caller.userId, ...(tenantId !== undefined && { tenant: tenantId }) },
    gone,
  });
}

async function lockedSignIn(db: SharedDb, { userId, signInId }: UserCaller): Promise<LiveSignIn> {
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
