import type { Migration } from '@parley/postgres/database/types';

export const codes: Migration = {
  name: '007-codes',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE secured_tokens (
        id integer PRIMARY KEY, -- random: it is answered to whoever asks for a code
        type text NOT NULL CHECK (type IN ('TIMED_OTP', 'SECURED_TOKEN')),
        purpose text NOT NULL,
        contact_index bytea NOT NULL, -- HMAC of the email or phone
        channel text NOT NULL CHECK (channel IN ('EMAIL', 'PHONE')),
        user_id integer REFERENCES users (id), -- who has the contact
        secret_hash bytea NOT NULL, -- of a code an HMAC with the id, of a token its SHA-256; random where nothing was sent
        guesses smallint NOT NULL, -- wrong attempts that it takes; 0 beyond the caps of a day
        wrong_attempts smallint NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        expires_at timestamptz NOT NULL,
        ended_at timestamptz -- used or replaced
      );
      CREATE UNIQUE INDEX secured_tokens_live ON secured_tokens (contact_index, type, purpose) WHERE ended_at IS NULL;
      CREATE INDEX secured_tokens_day ON secured_tokens (contact_index, type, purpose, created_at);
      CREATE UNIQUE INDEX secured_tokens_secret ON secured_tokens (secret_hash);
      CREATE INDEX secured_tokens_user ON secured_tokens (user_id) WHERE user_id IS NOT NULL AND ended_at IS NULL;
      CREATE INDEX secured_tokens_created ON secured_tokens (created_at);
    `);
  },
};
