import type { Migration } from '@parley/postgres/database/types';

export const knowledgeBases: Migration = {
  name: '006-knowledge-bases',
  async up(knex) {
    await knex.raw(`
      -- Ids of knowledge bases, which belong to another service and may have been deleted since. Null means none.
      ALTER TABLE agents ADD COLUMN knowledge_base_ids integer[] CHECK (cardinality(knowledge_base_ids) BETWEEN 1 AND 5)`);
  },
};
