import type { CallerRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import type { MutationUnlinkIdentityArgs } from '../generated/schema.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { withLockedAccount } from './locked-account.ts';
import { servedProvider } from './served-provider.ts';
import { userStore } from './user-store.ts';

/**
 * Removes a login method. Returns true even if no method of that kind is linked.
 * @throws `invalid` (`LAST_LOGIN_METHOD`) if no other login method would remain
 * @throws `notImplemented` if the provider is not served
 * @throws `REAUTHENTICATE` if the sign-in is not recent
 * @throws the errors of `withLockedSignIn`
 */
export async function unlinkIdentity(
  ports: Ports,
  request: CallerRequest,
  { provider }: MutationUnlinkIdentityArgs,
): Promise<boolean> {
  const { userId } = signedIn(request.caller);
  const method = servedProvider(provider);
  await withLockedAccount(ports, request, async (db, account) => {
    const { hasPassword, hasContact, emailProofRequired } = account;
    const hasIdpOne = account.idpOneSubject !== null;
    if (!(method === 'PASSWORD' ? hasPassword : hasIdpOne)) return;
    // A password counts as a login method only with an email or phone, and not while the email is unverified.
    const remains = method === 'PASSWORD' ? hasIdpOne : hasPassword && hasContact && !emailProofRequired;
    if (!remains) throw badRequest('This is the only way to sign in to your account', 'LAST_LOGIN_METHOD');
    await userStore(db).update(userId, method === 'PASSWORD' ? { passwordHash: null } : { idpOneSubject: null });
    await notifyOwner(ports, db, userId, 'IDENTITY_UNLINKED');
  });
  return true;
}
