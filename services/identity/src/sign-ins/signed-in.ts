import type { Caller } from '@parley/kernel/caller';
import { type DomainError, forbidden, unauthenticated } from '@parley/kernel/errors';

export type UserCaller = Caller & { kind: 'user'; userId: number; signInId: string };

export function signedIn<Given extends Caller>(caller: Given): Given & UserCaller {
  if (caller.kind !== 'user' || caller.userId === undefined || caller.signInId === undefined) throw unauthenticated();
  return caller as Given & UserCaller;
}

/**
 * Returns the error for a suspended user. Thrown only after the credential was verified, so that other people do not
 * learn of the suspension.
 */
export function userSuspended(): DomainError {
  return forbidden('This account is suspended', 'USER_SUSPENDED');
}
