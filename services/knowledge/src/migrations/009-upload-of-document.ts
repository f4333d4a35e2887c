import type { Migration } from '@parley/postgres/database/types';

export const uploadOfDocument: Migration = {
  name: '009-upload-of-document',
  async up(knex) {
    await knex.raw(`
      -- PostgreSQL checks this foreign key whenever a document's row is deleted.
      CREATE INDEX knowledge_uploads_of_document ON knowledge_uploads (tenant_id, document_id) WHERE document_id IS NOT NULL;
    `);
  },
};
