import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import type { AvatarConfig } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';

export async function getAvatarConfig({ database }: Ports, { caller }: TenantRequest): Promise<AvatarConfig> {
  const { tenantId } = signedIn(caller);
  return database.transact(tenantId, (db) => avatarConfigStore(db).get());
}

/** Returns the result of `getAvatarConfig` to services, which act for a tenant and not for a user. */
export async function tenantAvatarConfig({ database }: Ports, { caller }: TenantRequest): Promise<AvatarConfig> {
  return database.transact(caller.tenantId, (db) => avatarConfigStore(db).get());
}
