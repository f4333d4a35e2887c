import type { CallerRequest } from '@parley/kernel/caller-request';
import { unauthenticated } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { requireRecent, withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { accountStore, type SignInMethods } from './account-store.ts';

/**
 * Runs `work` as `withLockedSignIn` does, but requires a recent sign-in and passes the account's login methods to `work`.
 * @throws `REAUTHENTICATE` if the sign-in is not recent
 */
export function withLockedAccount<T>(
  ports: Ports,
  request: CallerRequest,
  work: (db: SharedDb, account: SignInMethods) => Promise<T>,
): Promise<T> {
  return withLockedSignIn(ports, request, async (db, signIn) => {
    requireRecent(signIn, ports.settings);
    const account = await accountStore(db).lock(signedIn(request.caller).userId);
    if (!account) throw unauthenticated();
    return work(db, account);
  });
}
