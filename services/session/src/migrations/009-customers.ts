import type { Migration } from '@parley/postgres/database/types';

/**
 * Adds the look-up of sessions by customer. A customer's identifier may be too long for an index, so its hash is stored
 * in a column; under row-level security an index on an expression would not be used. The sums over a session's messages
 * are read from an index alone.
 */
export const customers: Migration = {
  name: '009-customers',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE sessions
        ADD COLUMN client_hash bigint GENERATED ALWAYS AS (hashtextextended(client_external_id, 0)) STORED,
        -- The person that the session talks to, as verified by the identity provider; null until then.
        ADD COLUMN identity jsonb;
      CREATE INDEX sessions_of_customer ON sessions (tenant_id, client_hash, id);
      CREATE INDEX messages_spent ON messages (tenant_id, session_id) INCLUDE (tokens_in, tokens_out, cost_usd)
        WHERE role = 'MODEL';
    `);
  },
};
