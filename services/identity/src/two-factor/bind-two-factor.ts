import type { CallerRequest } from '@parley/kernel/caller-request';
import { badRequest, invalid } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type { BindTwoFactorInput } from '../generated/schema.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { requireRecent, withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { consumeCode, offerPlace, secretPlace, wrongCode } from './two-factor.ts';
import { twoFactorStore } from './two-factor-store.ts';

const binding = z.object({ secret: anyText(), code: anyText() });

/**
 * Binds a secret that was offered to this user. This sign-in is complete, because it has sent a code; the user's other sign-ins are limited
 * until they send a code too.
 * @throws `invalid` with `TWO_FACTOR_BOUND` if a secret is already bound
 * @throws `invalid` if the secret was not offered or the code is wrong
 * @throws the errors of `withLockedSignIn` and `requireRecent`
 */
export async function bindTwoFactor(ports: Ports, request: CallerRequest, input: BindTwoFactorInput): Promise<boolean> {
  const { userId, signInId } = signedIn(request.caller);
  const { secret, code } = parseInput(binding, input);

  const isRight = await withLockedSignIn(ports, request, async (db, signIn) => {
    requireRecent(signIn, ports.settings);
    const store = twoFactorStore(db);
    if (await store.findSecret(userId)) throw badRequest('A second factor is bound already', 'TWO_FACTOR_BOUND');
    const offered = await store.listOffers(userId);
    if (!offered.some((sealed) => ports.box.open(sealed, offerPlace(userId)).toString() === secret)) {
      throw invalid({ path: 'input.secret', message: 'was not offered to you within the last 10 minutes' });
    }
    if (!(await consumeCode(ports, db, { userId, secret, code }))) return false;
    await store.bind(userId, ports.box.seal(secret, secretPlace(userId)));
    await signInStore(db).limitOthers(userId, signInId, 'TWO_FACTOR_REQUIRED');
    await notifyOwner(ports, db, userId, 'TWO_FACTOR_BOUND');
    return true;
  });
  if (!isRight) throw wrongCode();
  await ports.announce({ $case: 'userId', value: userId });
  return true;
}
