import type { Migration } from '@parley/postgres/database/types';

export const spentBySessions: Migration = {
  name: '011-spent-by-sessions',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE sessions
        -- The sums over the session's messages, set in the transaction that ends it: nothing is said in it after that. Null while it goes
        -- on, and where a process ended it that did not know of them: then the messages are summed up.
        ADD COLUMN tokens_in bigint,
        ADD COLUMN tokens_out bigint,
        ADD COLUMN cost_usd numeric(20, 8),
        -- Tickets of the identity provider that are being exchanged, are spent or were refused.
        ADD COLUMN tickets_tried integer NOT NULL DEFAULT 0;
    `);
  },
};
