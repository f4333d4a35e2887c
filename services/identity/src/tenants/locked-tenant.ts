import { inNoTenant } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { conflict, type DomainError, forbidden } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { withLockedSignIn } from '../sign-ins/locked-sign-in.ts';
import type { LiveSignIn } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import type { MembershipRole, Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

export interface LockedTenant {
  tenant: Tenant;
  role: MembershipRole;
  signIn: LiveSignIn;
}

/**
 * Runs `work` as `withLockedSignIn` does, and also locks the tenant.
 * @throws `NO_TENANT` if the tenant is deleted, or the user is not a member
 * @throws `conflict` if the sign-in has switched to another tenant
 */
export async function withLockedTenant<T>(
  ports: Ports,
  request: TenantRequest,
  work: (db: SharedDb, locked: LockedTenant) => Promise<T>,
): Promise<T> {
  const { tenantId, userId } = signedIn(request.caller);
  const lockTenant = async (db: SharedDb, signIn: LiveSignIn) => {
    const locked = await tenantStore(db).lockForMember(tenantId, userId);
    if (!locked) throw inNoTenant();
    if (signIn.tenantId !== tenantId) throw conflict('This sign-in has turned to another tenant; try again');
    return work(db, { ...locked, signIn });
  };
  return withLockedSignIn(ports, request, lockTenant, { tenantId });
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
