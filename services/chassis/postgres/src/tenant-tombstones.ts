import type { Migration, TenantDb } from './database/types.ts';

/** The name of the tenant table that records deleted tenants. A service with its own `onTenantEnd` declares this table. */
export const tombstonesTable = 'deleted_tenants';

/** An SQL condition: the tenant of the parameter `:tenantId` is not marked as deleted. */
export const notDeletedSql = `NOT EXISTS (SELECT FROM ${tombstonesTable} WHERE tenant_id = :tenantId)`;

/** The first half of the advisory lock's key; the second half is the tenant's id. */
const tenantLock = `hashtext(current_schema() || '.${tombstonesTable}')`;

/**
 * Makes the migration that creates the table of deleted tenants; a service adds it to its migrations under the next number, e.g.
 * `004-deleted-tenants`.
 */
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
 * The service's own record of deleted tenants. A transaction that starts something for a tenant takes a shared lock and then checks, in
 * another statement, whether the tenant is deleted (`notDeletedSql`). The transaction that marks the tenant as deleted takes the lock
 * exclusively and then ends what runs for the tenant. Either transaction waits for the commit of the other, so the second one sees the
 * changes of the first.
 */
export function tenantTombstones({ knex, tenantId }: TenantDb) {
  return {
    /**
     * Takes the shared lock, which prevents `markDeleted` of other transactions until this transaction ends. Waits for a transaction that
     * holds the lock exclusively.
     */
    async lockShared(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock_shared(${tenantLock}, cast(:tenantId as integer))`, { tenantId });
    },

    /** Marks the tenant as deleted, after waiting for holders of the shared lock. Idempotent. */
    async markDeleted(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock(${tenantLock}, cast(:tenantId as integer))`, { tenantId });
      await knex.raw(`INSERT INTO ${tombstonesTable} (tenant_id) VALUES (:tenantId) ON CONFLICT DO NOTHING`, {
        tenantId,
      });
    },
  };
}
