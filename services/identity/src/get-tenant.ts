import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import type { Ports } from './ports.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/** Finds deleted ones too. For any caller but the mesh itself, a tenant other than its own is `notFound`. */
export async function getTenant({ database }: Ports, { caller }: CallerRequest, tenantId: number): Promise<Tenant> {
  const meshItself = caller.kind === 'service' && caller.tenantId === null;
  const tenant =
    meshItself || caller.tenantId === tenantId
      ? await database.transactShared((db) => tenantStore(db).find(tenantId))
      : undefined;
  if (!tenant) throw notFound('Tenant', tenantId);
  return tenant;
}
