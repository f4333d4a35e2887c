import type { Migration } from '@parley/postgres/database/types';

export const textGenerations: Migration = {
  name: '002-text-generations',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE text_generations (
        request_id text PRIMARY KEY,
        tenant_id integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now()
      );
      CREATE INDEX text_generations_created ON text_generations (created_at);
    `);
  },
};
