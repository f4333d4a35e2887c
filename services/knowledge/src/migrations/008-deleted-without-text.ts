import type { Migration } from '@parley/postgres/database/types';

export const deletedWithoutText: Migration = {
  name: '008-deleted-without-text',
  async up(knex) {
    await knex.raw(`
      -- A trigger clears the text, because processes of the previous version still delete documents while they are being replaced.
      CREATE FUNCTION knowledge_document_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.raw_text := '';
        NEW.page_starts := NULL;
        RETURN NEW;
      END $$;
      CREATE TRIGGER knowledge_document_deleted BEFORE UPDATE OF deleted_at ON knowledge_documents
        FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)
        EXECUTE FUNCTION knowledge_document_deleted();
      -- Clears texts of documents that such processes have deleted since 006. Drafts look deleted and still need their text.
      ALTER TABLE knowledge_documents NO FORCE ROW LEVEL SECURITY;
      UPDATE knowledge_documents SET raw_text = '', page_starts = NULL
       WHERE deleted_at IS NOT NULL AND (generation > 0 OR origin = 'UPLOAD') AND raw_text <> '';
    `);
  },
};
