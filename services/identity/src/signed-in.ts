import type { Caller, TenantCaller } from '@parley/kernel/caller';
import { inTenant } from '@parley/kernel/caller';
import { type DomainError, forbidden, unauthenticated } from '@parley/kernel/errors';

export type UserCaller = Caller & { kind: 'user'; userId: number; signInId: string };

export function signedIn(caller: Caller): UserCaller {
  if (caller.kind !== 'user' || caller.userId === undefined || caller.signInId === undefined) throw unauthenticated();
  return caller as UserCaller;
}

export function signedInToTenant(caller: Caller): UserCaller & TenantCaller {
  return inTenant(signedIn(caller)) as UserCaller & TenantCaller;
}

/** Thrown only after the credential was verified, so that suspension is not revealed to others. */
export function userSuspended(): DomainError {
  return forbidden('This account is suspended', 'USER_SUSPENDED');
}
