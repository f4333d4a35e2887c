import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import type { AvatarConfig } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';

export async function getAvatarConfig({ database }: Ports, { caller }: TenantRequest): Promise<AvatarConfig> {
  const { tenantId } = signedIn(caller);
  return database.transact(tenantId, (db) => avatarConfigStore(db).get());
}

/** Returns the same as `getAvatarConfig`, for services, which call on behalf of a tenant and not of a person. */
export async function tenantAvatarConfig({ database }: Ports, { caller }: TenantRequest): Promise<AvatarConfig> {
  return database.transact(caller.tenantId, (db) => avatarConfigStore(db).get());
}
