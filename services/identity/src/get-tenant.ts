import type { Caller } from '@parley/kernel/caller';
import { notFound } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * The facts of a tenant, a deleted one included, for other services.
 * @throws DomainError `notFound` when there is none, or the call is made on behalf of another tenant.
 */
export async function getTenant({ database }: Ports, caller: Caller, tenantId: number): Promise<Tenant> {
  const meshItself = caller.kind === 'service' && caller.tenantId === null;
  const tenant =
    meshItself || caller.tenantId === tenantId
      ? await database.transactShared((db) => tenantStore(db).find(tenantId))
      : undefined;
  if (!tenant) throw notFound('Tenant', tenantId);
  return tenant;
}
