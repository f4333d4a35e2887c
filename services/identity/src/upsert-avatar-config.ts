import type { Caller } from '@parley/kernel/caller';
import { parseInput } from '@parley/kernel/input';
import { type AvatarConfig, avatarSettings } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';
import type { UpsertAvatarConfigInput } from './generated/schema.ts';
import { withHeldTenantInUse } from './owned-tenant.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';

/** Left out stays; null clears liveTalkingUrl, and is refused elsewhere. */
const avatarChanges = avatarSettings.partial();

/** Changes the tenant's avatar and voice defaults in place. */
export async function upsertAvatarConfig(
  ports: Ports,
  caller: Caller,
  input: UpsertAvatarConfigInput,
  gone?: AbortSignal,
): Promise<AvatarConfig> {
  const person = signedInToTenant(caller);
  const changes = parseInput(avatarChanges, input);
  return withHeldTenantInUse(ports, person, gone, (db) =>
    db.asTenant(person.tenantId, (own) => avatarConfigStore(own).update(changes)),
  );
}
