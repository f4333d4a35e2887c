import type { Migration } from '@parley/postgres/database/types';

export const parseWarnings: Migration = {
  name: '010-parse-warnings',
  async up(knex) {
    await knex.raw(`ALTER TABLE knowledge_documents ADD COLUMN parse_warnings text[] NOT NULL DEFAULT '{}'`);
  },
};
