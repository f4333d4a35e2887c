import type { TenantRequest } from '@parley/kernel/caller-request';
import { outbox } from '@parley/postgres/outbox/outbox';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { apiKeyStore } from '../api-keys/api-key-store.ts';
import { idempotencyStore } from '../idempotency/idempotency-store.ts';
import { idempotencyUsageStore } from '../idempotency/idempotency-usage-store.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import { tenantSecretStore } from '../operators/tenant-secret-store.ts';
import type { Ports } from '../ports.ts';
import { requireRecent } from '../sign-ins/locked-sign-in.ts';
import { signInStore } from '../sign-ins/sign-in-store.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { requireOwner, withLockedTenant } from './locked-tenant.ts';
import { tenantStore } from './tenant-store.ts';

/**
 * Deletes a tenant and publishes the event that makes other services end the tenant's work.
 * @throws `forbidden` with `OWNER_ONLY` if the caller is not the owner
 * @throws `forbidden` with `REAUTHENTICATE` if the sign-in is not recent
 * @throws the errors of `withLockedTenant`
 */
export async function deleteTenant(ports: Ports, request: TenantRequest): Promise<boolean> {
  const { tenantId, userId } = signedIn(request.caller);
  await withLockedTenant(ports, request, async (db, locked) => {
    requireOwner(locked);
    requireRecent(locked.signIn, ports.settings);
    const { id } = locked.tenant;
    const deletedAt = await tenantStore(db).softDelete(id);
    await apiKeyStore(db).revokeAll(id);
    await db.asTenant(id, (own) => tenantSecretStore(own).removeAll());
    // `users.last_tenant_id` keeps its value: members' rows are not locked here, and new sign-ins ignore a deleted tenant.
    await signInStore(db).leaveTenant(id);
    await idempotencyStore(db).removeOfTenant(id);
    await idempotencyUsageStore(db).removeOfTenant(id);
    await notifyOwner(ports, db, userId, 'TENANT_DELETED');
    await outbox(db).append({
      topic: 'tenant-deleted',
      type: 'tenant.deleted.v1',
      key: String(id),
      tenantId: id,
      data: TenantDeleted.encode({ tenantId: id, deletedAt }).finish(),
    });
  });
  await ports.announce({ $case: 'tenantId', value: tenantId });
  return true;
}
