import type { Migration } from '@parley/postgres/database/types';

/**
 * Sessions are looked up by their customer, whose identifier may be too long for an index: its hash is stored, because under row-level
 * security a function of a column is no condition of an index. The sums over a session's messages are read from the index alone.
 */
export const customers: Migration = {
  name: '009-customers',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE sessions
        ADD COLUMN client_hash bigint GENERATED ALWAYS AS (hashtextextended(client_external_id, 0)) STORED,
        -- Whom the session talks to, as the identity provider says; null until that is verified.
        ADD COLUMN identity jsonb;
      CREATE INDEX sessions_of_customer ON sessions (tenant_id, client_hash, id);
      CREATE INDEX messages_spent ON messages (tenant_id, session_id) INCLUDE (tokens_in, tokens_out, cost_usd)
        WHERE role = 'MODEL';
    `);
  },
};
