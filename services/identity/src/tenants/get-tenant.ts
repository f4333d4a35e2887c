import type { CallerRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { apiKeyStore } from '../api-keys/api-key-store.ts';
import type { Ports } from '../ports.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

export interface FoundTenant extends Tenant {
  /** The id of the tenant's live API key; 0 if there is none. */
  apiKeyId: number;
}

/**
 * Returns a tenant, even a deleted one. Only services that act for no tenant may read any tenant. For all other callers, every tenant but
 * the caller's is `notFound`.
 */
export async function getTenant(
  { database }: Ports,
  { caller }: CallerRequest,
  tenantId: number,
): Promise<FoundTenant> {
  const meshItself = caller.kind === 'service' && caller.tenantId === null;
  const tenant =
    meshItself || caller.tenantId === tenantId
      ? await database.transactShared(async (db) => {
          const found = await tenantStore(db).find(tenantId);
          return found && { ...found, apiKeyId: (await apiKeyStore(db).liveKeyOf(tenantId)) ?? 0 };
        })
      : undefined;
  if (!tenant) throw notFound('Tenant', tenantId);
  return tenant;
}
