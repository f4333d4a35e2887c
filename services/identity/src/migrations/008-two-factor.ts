import type { Migration } from '@parley/postgres/database/types';

export const twoFactor: Migration = {
  name: '008-two-factor',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE users
        ADD COLUMN two_factor_last_step bigint, -- the time step of the last accepted code
        ADD COLUMN two_factor_wrong_codes smallint NOT NULL DEFAULT 0, -- since the last right code or lock
        ADD COLUMN two_factor_locked_until timestamptz;

      -- Secrets that were shown to their user and can be bound for a while.
      CREATE TABLE two_factor_offers (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id integer NOT NULL REFERENCES users (id),
        secret_sealed bytea NOT NULL,
        offered_at timestamptz NOT NULL DEFAULT parley_now()
      );
      CREATE INDEX two_factor_offers_user ON two_factor_offers (user_id);
      CREATE INDEX two_factor_offers_age ON two_factor_offers (offered_at);
    `);
  },
};
