import type { Migration } from '@parley/postgres/database/types';

export const spentBySessions: Migration = {
  name: '011-spent-by-sessions',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE sessions
        -- Sums over the session's messages. Set by the transaction that ends the session, after which no messages are
        -- added. Null while the session is active, and if an older process, which did not know these columns, ended the
        -- session; then the messages are summed.
        ADD COLUMN tokens_in bigint,
        ADD COLUMN tokens_out bigint,
        ADD COLUMN cost_usd numeric(20, 8),
        -- Tickets of the identity provider: those being exchanged, accepted and refused.
        ADD COLUMN tickets_tried integer NOT NULL DEFAULT 0;
    `);
  },
};
