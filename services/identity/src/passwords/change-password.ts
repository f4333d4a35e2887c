import type { CallerRequest } from '@parley/kernel/caller-request';
import { unauthenticated } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import { userStore } from '../accounts/user-store.ts';
import type { PasswordInput } from '../generated/schema.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { requireComplete, requireRecent, withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { newPassword, refuseEmail } from './password-rules.ts';
import { requesterOf } from './passwords.ts';

const passwordChange = z.object({ newPassword });

export async function changePassword(ports: Ports, request: CallerRequest, input: PasswordInput): Promise<boolean> {
  const { userId, signInId } = signedIn(request.caller);
  const requester = requesterOf(request);
  using _admission = await ports.passwords.admit(requester);
  const user = await ports.database.transactShared(async (db) => {
    const signIn = await signInStore(db).findLive(signInId, userId);
    if (!signIn) throw unauthenticated();
    requireComplete(signIn);
    requireRecent(signIn, ports.settings);
    return userStore(db).find(userId);
  });
  if (!user) throw unauthenticated();
  const { newPassword } = parseInput(passwordChange, input);
  refuseEmail(newPassword, user.email, 'input.newPassword');

  const passwordHash = await ports.passwords.hash(newPassword, requester);
  // The sign-in is checked again, because it may have been revoked while the password was hashed.
  await withLockedSignIn(ports, request, async (db, signIn) => {
    requireRecent(signIn, ports.settings);
    await userStore(db).update(userId, { passwordHash });
    await signInStore(db).revokeOthers(userId, signInId);
    await notifyOwner(ports, db, userId, 'PASSWORD_CHANGED');
  });
  await ports.announce({ $case: 'userId', value: userId });
  return true;
}
