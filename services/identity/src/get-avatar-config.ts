import type { Caller } from '@parley/kernel/caller';
import type { AvatarConfig } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';

export async function getAvatarConfig({ database }: Ports, caller: Caller): Promise<AvatarConfig> {
  const { tenantId } = signedInToTenant(caller);
  return database.transact(tenantId, (db) => avatarConfigStore(db).get());
}
