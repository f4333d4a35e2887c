import type { CallerRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

export async function myTenant({ database }: Ports, { caller }: CallerRequest): Promise<Tenant | null> {
  const { tenantId } = signedIn(caller);
  if (tenantId === null) return null;
  const tenant = await database.transactShared((db) => tenantStore(db).find(tenantId));
  return tenant && tenant.deletedAt === null ? tenant : null;
}
