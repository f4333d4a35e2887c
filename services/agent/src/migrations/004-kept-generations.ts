import type { Migration } from '@parley/postgres/database/types';

export const keptGenerations: Migration = {
  name: '004-kept-generations',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE kept_generations (
        tenant_id integer NOT NULL,
        key text NOT NULL, -- of a request with an Idempotency-Key
        call_id text NOT NULL, -- what the ledger knows the call by
        lease_until timestamptz NOT NULL,
        answer_sealed bytea, -- null while the model is asked
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, key)
      );
      CREATE INDEX kept_generations_age ON kept_generations (created_at);
    `);
  },
};
