import type { CallerRequest } from '@parley/kernel/caller-request';
import { anyText, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import type { UnbindTwoFactorInput } from '../generated/schema.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { requireRecent, withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { consumeCode, getBoundSecret, removeTwoFactor, wrongCode } from './two-factor.ts';

const unbinding = z.object({ code: anyText() });

/**
 * @throws `invalid` with `TWO_FACTOR_NOT_BOUND` if no secret is bound
 * @throws `invalid` if the code is wrong
 * @throws the errors of `withLockedSignIn` and `requireRecent`
 */
export async function unbindTwoFactor(
  ports: Ports,
  request: CallerRequest,
  input: UnbindTwoFactorInput,
): Promise<boolean> {
  const { userId } = signedIn(request.caller);
  const { code } = parseInput(unbinding, input);

  const isRight = await withLockedSignIn(ports, request, async (db, signIn) => {
    requireRecent(signIn, ports.settings);
    const secret = await getBoundSecret(ports.box, db, userId);
    if (!(await consumeCode(ports, db, { userId, secret, code }))) return false;
    await removeTwoFactor(db, userId);
    await notifyOwner(ports, db, userId, 'TWO_FACTOR_UNBOUND');
    return true;
  });
  if (!isRight) throw wrongCode();
  await ports.announce({ $case: 'userId', value: userId });
  return true;
}
