import type { Migration } from '@parley/postgres/database/types';

export const generationClaims: Migration = {
  name: '005-generation-claims',
  async up(knex) {
    await knex.raw(`
      -- The latest attempt; null if an older version, which had no claims, made the attempt.
      ALTER TABLE kept_generations ADD COLUMN claim_id uuid`);
  },
};
