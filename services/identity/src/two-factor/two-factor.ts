import { badRequest, type DomainError } from '@parley/kernel/errors';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { SharedDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { stepOf } from './time-based-code.ts';
import { twoFactorStore } from './two-factor-store.ts';

/**
 * Consumes a code: each time step of a secret is accepted once. After 5 wrong codes, all codes of the user are refused
 * for 15 minutes.
 * @returns false for a wrong code; the transaction must commit then, because the wrong code was counted in it
 */
export async function consumeCode(
  { clock }: Pick<Ports, 'clock'>,
  db: SharedDb,
  { userId, secret, code }: { userId: number; secret: string; code: string },
): Promise<boolean> {
  const store = twoFactorStore(db);
  const { isLocked, lastStep } = await store.findCodeState(userId);
  if (isLocked) return false;
  const step = stepOf(secret, code, clock());
  if (step === undefined) {
    await store.countWrongCode(userId);
    return false;
  }
  // A repeated code does not count as a guess: it was valid, and clients may send a request twice.
  if (lastStep !== null && step <= lastStep) return false;
  await store.acceptCode(userId, step);
  return true;
}

/** @throws DomainError `invalid` with `TWO_FACTOR_NOT_BOUND` if no secret is bound */
export async function getBoundSecret(box: SecretBox, db: SharedDb, userId: number): Promise<string> {
  const sealed = await twoFactorStore(db).findSecret(userId);
  if (!sealed) throw badRequest('No second factor is bound to this account', 'TWO_FACTOR_NOT_BOUND');
  return box.open(sealed, secretPlace(userId)).toString();
}

/**
 * Unbinds the second factor; sign-ins of the user that waited for it become complete. The caller has locked the user's
 * row, and announces the change.
 */
export async function removeTwoFactor(db: SharedDb, userId: number): Promise<void> {
  await twoFactorStore(db).unbind(userId);
  await signInStore(db).endLimit({ userId }, 'TWO_FACTOR_REQUIRED');
}

export const secretPlace = (userId: number): string => `identity.users.two_factor_secret:${userId}`;
export const offerPlace = (userId: number): string => `identity.two_factor_offers.secret:${userId}`;

/** Returns the same error for a wrong code, for a used code, and for any code while the user's codes are locked. */
export function wrongCode(): DomainError {
  return badRequest('The code is not valid');
}
