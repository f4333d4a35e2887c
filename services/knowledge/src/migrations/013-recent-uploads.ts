import type { Migration } from '@parley/postgres/database/types';

export const recentUploads: Migration = {
  name: '013-recent-uploads',
  async up(knex) {
    await knex.raw(`
      -- Confirmed uploads count too, while a PUT to their URL is still possible.
      CREATE INDEX knowledge_uploads_recent ON knowledge_uploads (tenant_id, created_at);
    `);
  },
};
