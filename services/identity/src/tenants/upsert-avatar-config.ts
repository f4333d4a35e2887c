import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { UpsertAvatarConfigInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { type AvatarConfig, avatarSettings } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';
import { requireActive, withLockedTenant } from './locked-tenant.ts';

const avatarChanges = avatarSettings.partial();

export async function upsertAvatarConfig(
  ports: Ports,
  request: TenantRequest,
  input: UpsertAvatarConfigInput,
): Promise<AvatarConfig> {
  const { tenantId } = signedIn(request.caller);
  const changes = parseInput(avatarChanges, input);
  return withLockedTenant(ports, request, (db, locked) => {
    requireActive(locked);
    return db.asTenant(tenantId, (own) => avatarConfigStore(own).update(changes));
  });
}
