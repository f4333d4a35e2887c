import type { TenantCaller } from '@parley/kernel/caller';
import { conflict, type DomainError, forbidden } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import { withLockedSignIn } from './locked-sign-in.ts';
import type { Ports } from './ports.ts';
import type { LiveSignIn } from './sign-in-store.ts';
import type { UserCaller } from './signed-in.ts';
import type { MembershipRole, Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

export interface LockedTenant {
  tenant: Tenant;
  /** The caller's role. */
  role: MembershipRole;
  signIn: LiveSignIn;
}

/**
 * Runs `work` in a transaction that has locked the rows of the caller and of the current tenant.
 * @param signal aborted when the client has disconnected.
 * @throws DomainError what `withLockedSignIn` throws; `forbidden` with `NO_TENANT` when the tenant was deleted or the caller is no
 * member; `conflict` when the sign-in has switched to another tenant since the caller was authenticated.
 */
export async function withLockedTenant<T>(
  ports: Ports,
  caller: UserCaller & TenantCaller,
  signal: AbortSignal | undefined,
  work: (db: SharedDb, locked: LockedTenant) => Promise<T>,
): Promise<T> {
  const { tenantId, userId } = caller;
  return withLockedSignIn(ports, { caller, signal, tenantId }, async (db, signIn) => {
    const locked = await tenantStore(db).lockForMember(tenantId, userId);
    if (!locked) throw forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
    if (signIn.tenantId !== tenantId) throw conflict('This sign-in has turned to another tenant; try again');
    return work(db, { ...locked, signIn });
  });
}

/** @throws DomainError `forbidden` with `TENANT_SUSPENDED` while the tenant is suspended. */
export function requireActive({ tenant }: LockedTenant): void {
  if (tenant.isSuspended) throw forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
}

/** @throws DomainError `forbidden` with `OWNER_ONLY` unless the caller owns the tenant. */
export function requireOwner({ role }: LockedTenant): void {
  if (role !== 'OWNER') throw ownerOnly();
}

export function ownerOnly(): DomainError {
  return forbidden("Only the tenant's owner may do this", 'OWNER_ONLY');
}
