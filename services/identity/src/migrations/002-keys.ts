import type { Migration } from '@parley/postgres/database/types';

export const keys: Migration = {
  name: '002-keys',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE signing_keys (
        kid text PRIMARY KEY,
        public_jwk jsonb NOT NULL,
        private_jwk_sealed bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        signs_from timestamptz NOT NULL,
        verifies_until timestamptz -- null while it signs; afterwards the end of the last token that it may have signed
      );

      CREATE TABLE derivation_keys (
        purpose text PRIMARY KEY,
        key_sealed bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now()
      );
    `);
  },
};
