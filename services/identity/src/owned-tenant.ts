import type { SharedDb } from '@parley/chassis/database/types';
import { type DomainError, forbidden } from '@parley/chassis/errors';
import type { MembershipRole, Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * The caller's tenant with their role in it, held until the transaction ends.
 * @throws DomainError `forbidden` with `NO_TENANT` when it has just been deleted or left.
 */
export async function heldTenant(
  db: SharedDb,
  caller: { tenantId: number; userId: number },
): Promise<{ tenant: Tenant; role: MembershipRole }> {
  const held = await tenantStore(db).lockForMember(caller.tenantId, caller.userId);
  if (!held) throw forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
  return held;
}

/** The same for what only its owner may do. @throws DomainError `forbidden` with `OWNER_ONLY` as well. */
export async function heldTenantOfOwner(db: SharedDb, caller: { tenantId: number; userId: number }): Promise<Tenant> {
  const { tenant, role } = await heldTenant(db, caller);
  if (role !== 'OWNER') throw ownerOnly();
  return tenant;
}

export function ownerOnly(): DomainError {
  return forbidden("Only the tenant's owner may do this", 'OWNER_ONLY');
}
