import type { TenantDb } from '@parley/postgres/database/types';
import { customActionStore } from './actions/custom-action-store.ts';
import { partnerCredentialStore } from './actions/partner-credential-store.ts';
import { turnCallStore } from './calls/turn-call-store.ts';
import { connectorStore } from './connectors/connector-store.ts';

/**
 * Deletes all credentials of a deleted tenant. Running calls end by their time limits; the call log is deleted after its retention time.
 */
export async function endTenant(db: TenantDb): Promise<void> {
  await connectorStore(db).markAllDeleted();
  await customActionStore(db).markAllDeleted();
  await partnerCredentialStore(db).removeAll();
  await turnCallStore(db).deleteAll();
}
