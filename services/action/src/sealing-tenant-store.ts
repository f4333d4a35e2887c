import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb, TenantDb } from '@parley/postgres/database/types';

/** Records that the tenant has sealed values. Call this before the tenant's first sealed value is stored. */
export async function noteSealing({ knex, tenantId }: TenantDb): Promise<void> {
  await rowsBy(knex)('INSERT INTO sealing_tenants (tenant_id) VALUES (:tenantId) ON CONFLICT DO NOTHING', { tenantId });
}

export async function listSealingTenants({ knex }: SharedDb): Promise<number[]> {
  return knex('sealing_tenants').orderBy('tenantId').pluck('tenantId');
}
