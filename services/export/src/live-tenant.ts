import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import { notDeletedSql, tenantTombstones } from '@parley/postgres/tenant-tombstones';

/** Reports whether the tenant exists. An existing tenant cannot be deleted until this transaction ends. */
export async function isLiveTenant(db: TenantDb): Promise<boolean> {
  const { knex, tenantId } = db;
  await tenantTombstones(db).lockShared();
  const [live] = await rowsBy(knex)(`SELECT 1 AS live WHERE ${notDeletedSql}`, { tenantId });
  return live !== undefined;
}
