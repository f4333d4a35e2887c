import type { Migration } from '@parley/postgres/database/types';

export const tenantTombstones: Migration = {
  name: '003-tenant-tombstones',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE deleted_tenants (
        tenant_id integer PRIMARY KEY,
        deleted_at timestamptz NOT NULL DEFAULT parley_now()
      );
    `);
  },
};
