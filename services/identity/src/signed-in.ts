import type { Caller, TenantCaller } from '@parley/kernel/caller';
import { inTenant } from '@parley/kernel/caller';
import { type DomainError, forbidden, unauthenticated } from '@parley/kernel/errors';

/** A signed-in user, with or without a current tenant. */
export type UserCaller = Caller & { kind: 'user'; userId: number; signInId: string };

/** @throws DomainError `unauthenticated` unless the caller is a signed-in user. */
export function signedIn(caller: Caller): UserCaller {
  if (caller.kind !== 'user' || caller.userId === undefined || caller.signInId === undefined) throw unauthenticated();
  return caller as UserCaller;
}

/** @throws DomainError `unauthenticated` unless the caller is a signed-in user; `forbidden` with `NO_TENANT` without a tenant. */
export function signedInToTenant(caller: Caller): UserCaller & TenantCaller {
  return inTenant(signedIn(caller)) as UserCaller & TenantCaller;
}

/** Thrown only after the credential was verified, so that suspension is not revealed to others. */
export function userSuspended(): DomainError {
  return forbidden('This account is suspended', 'USER_SUSPENDED');
}
