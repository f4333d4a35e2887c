import type { Caller, TenantCaller } from '@parley/kernel/caller';
import { inTenant } from '@parley/kernel/caller';
import { type DomainError, forbidden, unauthenticated } from '@parley/kernel/errors';

/** A person with a sign-in, in a tenant or not. */
export type UserCaller = Caller & { kind: 'user'; userId: number; signInId: string };

/** @throws DomainError `unauthenticated` when no person is asking. */
export function signedIn(caller: Caller): UserCaller {
  if (caller.kind !== 'user' || caller.userId === undefined || caller.signInId === undefined) throw unauthenticated();
  return caller as UserCaller;
}

/** @throws DomainError `unauthenticated` when no person is asking, `forbidden` with `NO_TENANT` when they are in no tenant. */
export function signedInToTenant(caller: Caller): UserCaller & TenantCaller {
  return inTenant(signedIn(caller)) as UserCaller & TenantCaller;
}

/** What somebody is answered who has the right credential of a suspended user. */
export function userSuspended(): DomainError {
  return forbidden('This account is suspended', 'USER_SUSPENDED');
}
