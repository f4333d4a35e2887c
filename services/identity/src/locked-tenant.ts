import { inNoTenant, type TenantCaller } from '@parley/kernel/caller';
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
  role: MembershipRole;
  signIn: LiveSignIn;
}

/** As `withLockedSignIn`, then locks the tenant. @throws `NO_TENANT`: deleted, or no member; `conflict`: sign-in has switched */
export async function withLockedTenant<T>(
  ports: Ports,
  caller: UserCaller & TenantCaller,
  signal: AbortSignal | undefined,
  work: (db: SharedDb, locked: LockedTenant) => Promise<T>,
): Promise<T> {
  const { tenantId, userId } = caller;
  return withLockedSignIn(ports, { caller, signal, tenantId }, async (db, signIn) => {
    const locked = await tenantStore(db).lockForMember(tenantId, userId);
    if (!locked) throw inNoTenant();
    if (signIn.tenantId !== tenantId) throw conflict('This sign-in has turned to another tenant; try again');
    return work(db, { ...locked, signIn });
  });
}

export function requireActive({ tenant }: LockedTenant): void {
  if (tenant.isSuspended) throw forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
}

export function requireOwner({ role }: LockedTenant): void {
  if (role !== 'OWNER') throw ownerOnly();
}

export function ownerOnly(): DomainError {
  return forbidden("Only the tenant's owner may do this", 'OWNER_ONLY');
}
