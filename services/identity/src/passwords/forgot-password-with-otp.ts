import type { CallerRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { SharedDb } from '@parley/postgres/database/types';
import { z } from 'zod';
import { userStore } from '../accounts/user-store.ts';
import type { PasswordWithOtpInput } from '../generated/schema.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { invalidToken, presentedToken } from '../secured-tokens/secured-token.ts';
import { type AttemptedToken, securedTokenStore } from '../secured-tokens/secured-token-store.ts';
import { withSecuredToken } from '../secured-tokens/use-secured-token.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { userSuspended } from '../sign-ins/signed-in.ts';
import { newPassword, refuseEmail } from './password-rules.ts';
import { requesterOf } from './passwords.ts';

const passwordReset = z.object({ newPassword, token: presentedToken });

/** Sets a new password by a code or link, and revokes all sign-ins of the user. The second factor, if any, is unchanged. */
export async function forgotPasswordWithOtp(
  ports: Ports,
  request: CallerRequest,
  input: PasswordWithOtpInput,
): Promise<boolean> {
  const requester = requesterOf(request);
  using _admission = await ports.passwords.admit(requester);
  const { newPassword, token } = parseInput(passwordReset, input);
  // The password is hashed before the token is checked, so that valid and invalid tokens take the same time.
  const passwordHash = await ports.passwords.hash(newPassword, requester);

  const reset = async (db: SharedDb, { userId, channel }: AttemptedToken) => {
    const status = userId === null ? undefined : await userStore(db).lock(userId);
    const user = userId === null ? undefined : await userStore(db).find(userId);
    if (!user) throw invalidToken();
    if (status === 'SUSPENDED') throw userSuspended();
    refuseEmail(newPassword, user.email, 'input.newPassword');
    await userStore(db).update(user.id, { passwordHash });
    if (channel === 'EMAIL') await userStore(db).emailProved(user.id);
    await signInStore(db).revoke({ userId: user.id });
    await securedTokenStore(db).end({ userId: user.id, purpose: 'RESET_PASSWORD' });
    await notifyOwner(ports, db, user.id, 'PASSWORD_CHANGED');
    return user.id;
  };
  const use = { purposes: ['RESET_PASSWORD' as const], spends: true, signal: request.signal };
  const userId = await withSecuredToken(ports, token, use, reset);
  await ports.announce({ $case: 'userId', value: userId });
  return true;
}
