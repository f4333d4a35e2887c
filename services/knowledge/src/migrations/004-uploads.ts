import type { Migration } from '@parley/postgres/database/types';

export const uploads: Migration = {
  name: '004-uploads',
  async up(knex) {
    await knex.raw(`
      -- The version whose text is stored and waits to be indexed, or was; 0: none yet.
      ALTER TABLE knowledge_documents ADD COLUMN parsed_version integer NOT NULL DEFAULT 0;
    `);
  },
};
