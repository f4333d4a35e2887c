import type { Migration } from '@parley/postgres/database/types';

export const idempotency: Migration = {
  name: '011-idempotency',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE idempotency_keys (
        id uuid PRIMARY KEY, -- names one use: the same for all retries
        tenant_id integer NOT NULL, -- 0 for none
        caller text NOT NULL, -- the sign-in, API key or session
        key_sha256 bytea NOT NULL,
        request_hmac bytea NOT NULL,
        claim_id uuid NOT NULL, -- the attempt that came last
        lease_until timestamptz NOT NULL,
        result_sealed bytea,
        expires_at timestamptz NOT NULL,
        UNIQUE (tenant_id, caller, key_sha256)
      );
      CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
    `);
  },
};
