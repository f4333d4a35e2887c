import type { CallerRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import type { Tenant } from './tenant.ts';
import { tenantStore } from './tenant-store.ts';

/** Lists the caller's tenants, oldest first. @throws DomainError `invalid` with `ANSWER_TOO_LARGE` if they exceed the answer budget */
export async function myTenants({ database }: Pick<Ports, 'database'>, { caller }: CallerRequest): Promise<Tenant[]> {
  const { userId } = signedIn(caller);
  return database.transactShared((db) => tenantStore(db).listLiveForMember(userId));
}
