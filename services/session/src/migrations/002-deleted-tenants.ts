import type { Migration } from '@parley/postgres/database/types';

export const deletedTenants: Migration = {
  name: '002-deleted-tenants',
  async up(knex) {
    await knex.raw(`
      -- False once the tenant has been deleted: the end of the session is not published for evaluation.
      ALTER TABLE sessions ADD COLUMN judged boolean NOT NULL DEFAULT true;
      CREATE INDEX sessions_active ON sessions (tenant_id, id) WHERE status = 'ACTIVE';
    `);
  },
};
