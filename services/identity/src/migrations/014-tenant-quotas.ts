import type { Migration } from '@parley/postgres/database/types';

export const tenantQuotas: Migration = {
  name: '014-tenant-quotas',
  async up(knex) {
    await knex.raw(`
      -- Limits that an operator set for this tenant, in place of the plan's.
      ALTER TABLE tenants
        ADD COLUMN own_knowledge_bases integer CHECK (own_knowledge_bases > 0),
        ADD COLUMN own_chunks integer CHECK (own_chunks > 0),
        ADD COLUMN own_storage_mb integer CHECK (own_storage_mb > 0);
    `);
  },
};
