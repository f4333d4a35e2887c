import type { Migration } from '@parley/postgres/database/types';

export const keptCallBytes: Migration = {
  name: '005-kept-call-bytes',
  async up(knex) {
    await knex.raw(`
      -- Total stored bytes of a tenant's ended calls in turn_calls.
      CREATE TABLE kept_call_bytes (
        tenant_id integer PRIMARY KEY,
        bytes bigint NOT NULL
      );
      INSERT INTO kept_call_bytes (tenant_id, bytes)
      SELECT tenant_id, sum(octet_length(result_sealed) + octet_length(arguments_sealed) + octet_length(note_sealed))
        FROM turn_calls WHERE result_sealed IS NOT NULL GROUP BY tenant_id;
    `);
  },
};
