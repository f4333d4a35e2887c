import { forbidden } from '@parley/kernel/errors';
import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import { notDeletedSql, tenantTombstones } from '@parley/postgres/tenant-tombstones';

/**
 * Prevents the deletion of the tenant until the commit. Call it before storing new data of the tenant. @throws DomainError `forbidden` if
 * the tenant is deleted
 */
export async function holdTenant(db: TenantDb): Promise<void> {
  const { knex, tenantId } = db;
  await tenantTombstones(db).lockShared();
  const [live] = await rowsBy(knex)(`SELECT 1 AS live WHERE ${notDeletedSql}`, { tenantId });
  if (!live) throw forbidden('The tenant was deleted');
}

/** Takes an advisory lock, so that only one transaction of any replica at a time counts a tenant's items of this kind. */
export async function lockCount({ knex, tenantId }: TenantDb, kind: string): Promise<void> {
  await rowsBy(knex)(`SELECT pg_advisory_xact_lock(hashtext(current_schema() || :kind), cast(:tenantId AS integer))`, {
    kind,
    tenantId,
  });
}
