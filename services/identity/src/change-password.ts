import type { Caller } from '@parley/chassis/caller';
import { unauthenticated } from '@parley/chassis/errors';
import { inputChecks } from '@parley/chassis/input-checks';
import { requireRecent, withLockedSignIn } from './locked-sign-in.ts';
import { checkNewPassword } from './password-rules.ts';
import { askerOf } from './passwords.ts';
import type { Ports } from './ports.ts';
import { signInStore } from './sign-in-store.ts';
import { signedIn } from './signed-in.ts';
import { userStore } from './user-store.ts';

/** Sets a new password and ends every other sign-in of this user; this one goes on. */
export async function changePassword(
  ports: Ports,
  caller: Caller,
  input: { newPassword: string },
  gone?: AbortSignal,
): Promise<boolean> {
  const person = signedIn(caller);
  const { userId, signInId } = person;
  const asker = askerOf(caller, gone);
  using _entered = await ports.passwords.enter(asker);
  const user = await ports.database.transactShared(async (db) => {
    const signIn = await signInStore(db).findLive(signInId, userId);
    if (!signIn) throw unauthenticated();
    requireRecent(signIn, ports.settings);
    return userStore(db).find(userId);
  });
  if (!user) throw unauthenticated();
  const check = inputChecks();
  checkNewPassword(check, 'input.newPassword', input.newPassword, user.email);
  check.finish();

  const passwordHash = await ports.passwords.hash(input.newPassword, asker);
  // Asked again: the password took its time to be hashed, and the owner may have ended this sign-in meanwhile.
  await withLockedSignIn(ports, { caller: person, gone }, async (db, signIn) => {
    requireRecent(signIn, ports.settings);
    await userStore(db).setPasswordHash(userId, passwordHash);
    await signInStore(db).revokeOthers(userId, signInId);
  });
  await ports.announce({ $case: 'userId', value: userId });
  return true;
}
