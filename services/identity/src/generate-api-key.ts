import type { Caller } from '@parley/kernel/caller';
import { apiKeySha256, newApiKey } from './api-key.ts';
import { apiKeyStore } from './api-key-store.ts';
import type { GenerateApiKeyResult } from './generated/schema.ts';
import { requireRecent } from './locked-sign-in.ts';
import { requireOwner, withHeldTenantInUse } from './owned-tenant.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';

const warning =
  'This key is shown only once: store it now. Any previous key of this tenant has stopped working with this answer.';

/** Makes the tenant's one API key. The tenant's row is held, so that of many at once exactly one key is left. */
export async function generateApiKey(ports: Ports, caller: Caller, gone?: AbortSignal): Promise<GenerateApiKeyResult> {
  const user = signedInToTenant(caller);
  const key = newApiKey();
  await withHeldTenantInUse(ports, user, gone, async (db, held) => {
    requireOwner(held);
    requireRecent(held.signIn, ports.settings);
    const { id } = held.tenant;
    const keys = apiKeyStore(db);
    await keys.revokeAll(id);
    await keys.insert({ tenantId: id, sha256: apiKeySha256(key), createdBy: user.userId });
  });
  await ports.announce({ $case: 'tenantId', value: user.tenantId });
  return { key, warning };
}
