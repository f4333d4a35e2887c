import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb, TenantDb } from '@parley/postgres/database/types';

/** Notes that the tenant has something sealed, before it is stored. */
export async function noteSealing({ knex, tenantId }: TenantDb): Promise<void> {
  await rowsBy(knex)('INSERT INTO sealing_tenants (tenant_id) VALUES (:tenantId) ON CONFLICT DO NOTHING', { tenantId });
}

export async function listSealingTenants({ knex }: SharedDb): Promise<number[]> {
  return knex('sealing_tenants').orderBy('tenantId').pluck('tenantId');
}
