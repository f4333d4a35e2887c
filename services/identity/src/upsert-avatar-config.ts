import type { Caller } from '@parley/kernel/caller';
import { parseInput } from '@parley/kernel/input';
import { type AvatarConfig, avatarSettings } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';
import type { UpsertAvatarConfigInput } from './generated/schema.ts';
import { requireActive, withLockedTenant } from './locked-tenant.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';

const avatarChanges = avatarSettings.partial();

export async function upsertAvatarConfig(
  ports: Ports,
  caller: Caller,
  input: UpsertAvatarConfigInput,
  signal?: AbortSignal,
): Promise<AvatarConfig> {
  const person = signedInToTenant(caller);
  const changes = parseInput(avatarChanges, input);
  return withLockedTenant(ports, person, signal, (db, locked) => {
    requireActive(locked);
    return db.asTenant(person.tenantId, (own) => avatarConfigStore(own).update(changes));
  });
}
