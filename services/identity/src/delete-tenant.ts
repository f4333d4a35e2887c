import type { Caller } from '@parley/kernel/caller';
import { outbox } from '@parley/postgres/outbox/outbox';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { apiKeyStore } from './api-key-store.ts';
import { requireRecent } from './locked-sign-in.ts';
import { requireOwner, withHeldTenant } from './owned-tenant.ts';
import type { Ports } from './ports.ts';
import { signInStore } from './sign-in-store.ts';
import { signedInToTenant } from './signed-in.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * Soft-deletes the tenant in use: its API key ends, and its members are in no tenant until they choose or make one. What runs
 * for it elsewhere ends by the event.
 */
export async function deleteTenant(ports: Ports, caller: Caller, gone?: AbortSignal): Promise<boolean> {
  const user = signedInToTenant(caller);
  await withHeldTenant(ports, user, gone, async (db, held) => {
    requireOwner(held);
    requireRecent(held.signIn, ports.settings);
    const { id } = held.tenant;
    const deletedAt = await tenantStore(db).softDelete(id);
    await apiKeyStore(db).revokeAll(id);
    // Where members chose it last stays: new sign-ins begin only in a tenant that lives, and the members' rows are not locked.
    await signInStore(db).leaveTenant(id);
    await outbox(db).append({
      topic: 'tenant-deleted',
      type: 'tenant.deleted.v1',
      key: String(id),
      tenantId: id,
      data: TenantDeleted.encode({ tenantId: id, deletedAt }).finish(),
    });
  });
  await ports.announce({ $case: 'tenantId', value: user.tenantId });
  return true;
}
