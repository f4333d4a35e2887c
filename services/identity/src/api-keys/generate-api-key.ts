import type { TenantRequest } from '@parley/kernel/caller-request';
import type { GenerateApiKeyResult } from '../generated/schema.ts';
import { notifyOwner } from '../messages/notify-owner.ts';
import type { Ports } from '../ports.ts';
import { requireRecent } from '../sign-ins/locked-sign-in.ts';
import { signedIn } from '../sign-ins/signed-in.ts';
import { requireActive, requireOwner, withLockedTenant } from '../tenants/locked-tenant.ts';
import { apiKeySha256, newApiKey } from './api-key.ts';
import { apiKeyStore } from './api-key-store.ts';

const warning =
  'This key is shown only once: store it now. Any previous key of this tenant has stopped working with this answer.';

/** Replaces the tenant's only API key. The tenant's row is locked, so that exactly one key is live after concurrent calls. */
export async function generateApiKey(ports: Ports, request: TenantRequest): Promise<GenerateApiKeyResult> {
  const { tenantId, userId } = signedIn(request.caller);
  const key = newApiKey();
  await withLockedTenant(ports, request, async (db, locked) => {
    requireActive(locked);
    requireOwner(locked);
    requireRecent(locked.signIn, ports.settings);
    const { id } = locked.tenant;
    const keys = apiKeyStore(db);
    await keys.revokeAll(id);
    await keys.insert({ tenantId: id, keySha256: apiKeySha256(key), createdBy: userId });
    await notifyOwner(ports, db, userId, 'API_KEY_GENERATED');
  });
  await ports.announce({ $case: 'tenantId', value: tenantId });
  return { key, warning };
}
