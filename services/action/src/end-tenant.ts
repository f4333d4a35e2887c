import type { TenantDb } from '@parley/postgres/database/types';
import { customActionStore } from './actions/custom-action-store.ts';
import { partnerCredentialStore } from './actions/partner-credential-store.ts';
import { turnCallStore } from './calls/turn-call-store.ts';
import { connectorStore } from './connectors/connector-store.ts';

/** Forgets all credentials of a deleted tenant; calls that run end within their time, and the log goes after its days. */
export async function endTenant(db: TenantDb): Promise<void> {
  await connectorStore(db).markAllDeleted();
  await customActionStore(db).markAllDeleted();
  await partnerCredentialStore(db).removeAll();
  await turnCallStore(db).deleteAll();
}
