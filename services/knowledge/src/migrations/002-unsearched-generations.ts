import type { Migration } from '@parley/postgres/database/types';

export const unsearchedGenerations: Migration = {
  name: '002-unsearched-generations',
  async up(knex) {
    await knex.raw(`
      -- Generations of chunks that no document names: being built, or replaced. A sweep of all tenants deletes their chunks.
      CREATE TABLE unsearched_generations (
        tenant_id integer NOT NULL,
        document_id integer NOT NULL,
        generation integer NOT NULL,
        -- Moved on while it is being built; once it has passed, the generation cannot be completed any more.
        sweep_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, document_id, generation)
      );
    `);
  },
};
