import type { CallerRequest } from '@parley/kernel/caller-request';
import { unauthenticated } from '@parley/kernel/errors';
import { userStore } from '../accounts/user-store.ts';
import type { TwoFactorInfo } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { newSecret, otpauthUri } from './time-based-code.ts';
import { offerPlace } from './two-factor.ts';
import { twoFactorStore } from './two-factor-store.ts';

/** Offers a secret that the user may bind within 10 minutes. A bound secret is unchanged. */
export async function generateTwoFactor(ports: Ports, request: CallerRequest): Promise<TwoFactorInfo> {
  const { userId } = signedIn(request.caller);
  const secret = newSecret();
  const user = await withLockedSignIn(ports, request, async (db) => {
    await twoFactorStore(db).offer(userId, ports.box.seal(secret, offerPlace(userId)));
    return userStore(db).find(userId);
  });
  if (!user) throw unauthenticated();
  return { secret, output: otpauthUri(secret, user.email ?? user.fullname) };
}
