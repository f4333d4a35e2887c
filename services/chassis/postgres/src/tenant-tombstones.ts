import type { Migration, TenantDb } from './database/types.ts';

/** The table that a service with an `onTenantEnd` of its own declares as a tenant table. */
export const tombstonesTable = 'deleted_tenants';

/** The first half of the advisory lock's key; the tenant's id is the other. */
const tenantLock = `hashtext(current_schema() || '.${tombstonesTable}')`;

/** Makes that table; a service puts it into its migrations under the next number, e.g. `004-deleted-tenants`. */
export function tombstonesMigration(name: string): Migration {
  return {
    name,
    async up(knex) {
      await knex.raw(`
        CREATE TABLE ${tombstonesTable} (
          tenant_id integer PRIMARY KEY,
          deleted_at timestamptz NOT NULL DEFAULT parley_now()
        )`);
    },
  };
}

/**
 * Which tenants have been deleted, as a service knows it itself. A transaction that starts something for a tenant locks the tenant
 * shared and then looks, in another statement, whether it is deleted; the one that marks it as deleted locks it alone and then ends
 * what there is. Each waits for the other's commit, so one of the two sees the other.
 */
export function tenantTombstones({ knex, tenantId }: TenantDb) {
  return {
    /** Keeps others from marking the tenant as deleted until this transaction ends; waits for one that is about to. */
    async lockShared(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock_shared(${tenantLock}, cast(:tenantId as integer))`, { tenantId });
    },

    /** Waits for those who hold the shared lock. Doing it again changes nothing. */
    async markDeleted(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock(${tenantLock}, cast(:tenantId as integer))`, { tenantId });
      await knex.raw(`INSERT INTO ${tombstonesTable} (tenant_id) VALUES (:tenantId) ON CONFLICT DO NOTHING`, {
        tenantId,
      });
    },
  };
}
