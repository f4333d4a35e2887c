import type { Migration } from '@parley/postgres/database/types';

export const idempotencyUsage: Migration = {
  name: '013-idempotency-usage',
  async up(knex) {
    await knex.raw(`
      -- The bytes that the result counts in idempotency_usage; 0 if an older version, which did not count, stored the
      -- result.
      ALTER TABLE idempotency_keys ADD COLUMN counted_bytes integer NOT NULL DEFAULT 0;
      CREATE TABLE idempotency_usage (
        holder text PRIMARY KEY, -- a tenant, or a caller outside of tenants
        kept_bytes bigint NOT NULL
      );
    `);
  },
};
