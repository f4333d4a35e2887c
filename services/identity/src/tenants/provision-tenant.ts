import type { SharedDb } from '@parley/postgres/database/types';
import { userStore } from '../accounts/user-store.ts';
import { avatarConfigStore } from './avatar-config-store.ts';
import type { Tenant } from './tenant.ts';
import { type NewTenant, type OfCompany, tenantStore } from './tenant-store.ts';

export const tenantDefaults = { plan: 'DEV', region: null, llmProviderOverride: null, llmModelOverride: null } as const;

export async function provisionTenant(db: SharedDb, input: NewTenant & OfCompany, ownerId: number): Promise<Tenant> {
  const tenant = await tenantStore(db).insert(input, ownerId);
  await userStore(db).setLastTenant(ownerId, tenant.id);
  await db.asTenant(tenant.id, (own) => avatarConfigStore(own).insertDefaults());
  return tenant;
}
