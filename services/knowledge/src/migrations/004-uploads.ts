import type { Migration } from '@parley/postgres/database/types';

export const uploads: Migration = {
  name: '004-uploads',
  async up(knex) {
    await knex.raw(`
      -- The version whose text is stored, whether or not the text is indexed yet; 0 if no version has been parsed.
      ALTER TABLE knowledge_documents ADD COLUMN parsed_version integer NOT NULL DEFAULT 0;
    `);
  },
};
