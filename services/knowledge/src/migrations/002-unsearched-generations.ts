import type { Migration } from '@parley/postgres/database/types';

export const unsearchedGenerations: Migration = {
  name: '002-unsearched-generations',
  async up(knex) {
    await knex.raw(`
      -- Generations of chunks that no document refers to: being built, or replaced. A sweep over all tenants deletes their chunks.
      CREATE TABLE unsearched_generations (
        tenant_id integer NOT NULL,
        document_id integer NOT NULL,
        generation integer NOT NULL,
        -- Postponed while the generation is being built. After this time the generation can no longer be completed.
        sweep_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, document_id, generation)
      );
    `);
  },
};
