import type { CallerRequest } from '@parley/kernel/caller-request';
import { anyText, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type { MutationVerifyTwoFactorArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { consumeCode, getBoundSecret, wrongCode } from './two-factor.ts';

const verification = z.object({ code: anyText() });

/**
 * Completes this sign-in if it waits for the second factor. If no factor is bound, the call is refused, because `true` would mean that a
 * code was verified.
 * @throws `invalid` with `TWO_FACTOR_NOT_BOUND` if no secret is bound
 * @throws `invalid` if the code is wrong or was used before, or while the user's codes are locked
 * @throws the errors of `withLockedSignIn`
 */
export async function verifyTwoFactor(
  ports: Ports,
  request: CallerRequest,
  input: MutationVerifyTwoFactorArgs,
): Promise<boolean> {
  const { userId, signInId } = signedIn(request.caller);
  const { code } = parseInput(verification, input, '');

  const isRight = await withLockedSignIn(
    ports,
    request,
    async (db) => {
      const secret = await getBoundSecret(ports.box, db, userId);
      if (!(await consumeCode(ports, db, { userId, secret, code }))) return false;
      await signInStore(db).endLimit({ id: signInId }, 'TWO_FACTOR_REQUIRED');
      return true;
    },
    { whileLimited: true },
  );
  if (!isRight) throw wrongCode();
  await ports.announce({ $case: 'signInId', value: signInId });
  return true;
}
