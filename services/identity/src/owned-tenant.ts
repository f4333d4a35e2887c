import type { TenantCaller } from '@parley/kernel/caller';
import { conflict, type DomainError, forbidden } from '@parley/kernel/errors';
import type { SharedDb } from '@parley/postgres/database/types';
import { withLockedSignIn } from './locked-sign-in.ts';
import type { Ports } from './ports.ts';
import type { LiveSignIn } from './sign-in-store.ts';
import type { UserCaller } from './signed-in.ts';
import type { MembershipRole, Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

export interface HeldTenant {
  tenant: Tenant;
  /** The caller's. */
  role: MembershipRole;
  signIn: LiveSignIn;
}

/**
 * Runs `work` in a transaction that holds the rows of the caller and of their tenant, with the tenant and the caller's role in it.
 * The sign-in is required to live and to be turned to this tenant.
 * @param gone aborted when nobody waits for the answer any more.
 * @throws DomainError what `withLockedSignIn` throws; `forbidden` with `NO_TENANT` when the tenant has just been deleted or left;
 * `conflict` when the sign-in has turned to another one since the caller was authenticated.
 */
export async function withHeldTenant<T>(
  ports: Pick<Ports, 'database'>,
  caller: UserCaller & TenantCaller,
  gone: AbortSignal | undefined,
  work: (db: SharedDb, held: HeldTenant) => Promise<T>,
): Promise<T> {
  return withLockedSignIn(ports, { caller, gone, tenantId: caller.tenantId }, async (db, signIn) =>
    work(db, await heldTenant(db, caller, signIn)),
  );
}

async function heldTenant(db: SharedDb, caller: UserCaller & TenantCaller, signIn: LiveSignIn): Promise<HeldTenant> {
  const held = await tenantStore(db).lockForMember(caller.tenantId, caller.userId);
  if (!held) throw forbidden('You belong to no tenant yet; create or choose one', 'NO_TENANT');
  if (signIn.tenantId !== caller.tenantId) throw conflict('This sign-in has turned to another tenant; try again');
  return { ...held, signIn };
}

/** The same for what is refused while the tenant is suspended. @throws DomainError `forbidden` with `TENANT_SUSPENDED` as well. */
export async function withHeldTenantInUse<T>(
  ports: Pick<Ports, 'database'>,
  caller: UserCaller & TenantCaller,
  gone: AbortSignal | undefined,
  work: (db: SharedDb, held: HeldTenant) => Promise<T>,
): Promise<T> {
  return withHeldTenant(ports, caller, gone, async (db, held) => {
    if (held.tenant.isSuspended) throw forbidden('This tenant is suspended', 'TENANT_SUSPENDED');
    return work(db, held);
  });
}

/** @throws DomainError `forbidden` with `OWNER_ONLY` unless the caller owns the tenant. */
export function requireOwner({ role }: HeldTenant): void {
  if (role !== 'OWNER') throw ownerOnly();
}

export function ownerOnly(): DomainError {
  return forbidden("Only the tenant's owner may do this", 'OWNER_ONLY');
}
