import type { Migration } from '@parley/postgres/database/types';

export const deletedTexts: Migration = {
  name: '006-deleted-texts',
  async up(knex) {
    await knex.raw(`
      -- Clears texts of deleted documents, as a deletion now does. Drafts look deleted and still need their text.
      ALTER TABLE knowledge_documents NO FORCE ROW LEVEL SECURITY;
      UPDATE knowledge_documents SET raw_text = '', page_starts = NULL
       WHERE deleted_at IS NOT NULL AND (generation > 0 OR origin = 'UPLOAD');
    `);
  },
};
