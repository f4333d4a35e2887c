import type { Migration } from '@parley/postgres/database/types';

export const generationClaims: Migration = {
  name: '005-generation-claims',
  async up(knex) {
    await knex.raw(`
      -- The attempt that came last; null of a version that knew none.
      ALTER TABLE kept_generations ADD COLUMN claim_id uuid`);
  },
};
