import type { TenantDb } from '@parley/chassis/database/types';

/** The first half of the advisory lock's key; the tenant's id is the other. */
const tenantLock = `hashtext(current_schema() || '.deleted_tenants')`;

/**
 * What session knows of a tenant itself: whether it has been deleted. Who starts something for it holds the tenant and looks
 * afterwards, in another statement; who takes its deletion buries it and ends afterwards what there is. Each waits for the
 * other's commit, so one of both sees the other.
 */
export function tenantStore({ knex, tenantId }: TenantDb) {
  return {
    /** Until this transaction ends nobody buries the tenant; waits for who is about to. Holders do not hinder each other. */
    async hold(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock_shared(${tenantLock}, cast(:tenantId as integer))`, { tenantId });
    },

    /** Marks the tenant as deleted, after all who hold it; again does nothing. */
    async bury(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock(${tenantLock}, cast(:tenantId as integer))`, { tenantId });
      await knex.raw('INSERT INTO deleted_tenants (tenant_id) VALUES (:tenantId) ON CONFLICT DO NOTHING', { tenantId });
    },
  };
}
