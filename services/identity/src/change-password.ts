import type { Caller } from '@parley/kernel/caller';
import { invalid, unauthenticated } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type { PasswordInput } from './generated/schema.ts';
import { requireRecent, withLockedSignIn } from './locked-sign-in.ts';
import { isSameAsEmail, newPassword } from './password-rules.ts';
import { askerOf } from './passwords.ts';
import type { Ports } from './ports.ts';
import { signInStore } from './sign-in-store.ts';
import { signedIn } from './signed-in.ts';
import { userStore } from './user-store.ts';

const passwordChange = z.object({ newPassword });

/** Sets a new password and ends every other sign-in of this user; this one goes on. */
export async function changePassword(
  ports: Ports,
  caller: Caller,
  input: PasswordInput,
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
  const { newPassword } = parseInput(passwordChange, input);
  if (user.email !== null && isSameAsEmail(newPassword, user.email)) {
    throw invalid({ path: 'input.newPassword', message: 'must not be the email' });
  }

  const passwordHash = await ports.passwords.hash(newPassword, asker);
  // Asked again: the password took its time to be hashed, and the owner may have ended this sign-in meanwhile.
  await withLockedSignIn(ports, { caller: person, gone }, async (db, signIn) => {
    requireRecent(signIn, ports.settings);
    await userStore(db).setPasswordHash(userId, passwordHash);
    await signInStore(db).revokeOthers(userId, signInId);
  });
  await ports.announce({ $case: 'userId', value: userId });
  return true;
}
