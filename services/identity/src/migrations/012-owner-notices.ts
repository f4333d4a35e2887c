import type { Migration } from '@parley/postgres/database/types';

export const ownerNotices: Migration = {
  name: '012-owner-notices',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE users
        ADD COLUMN notices_day date, -- in UTC: the day of the count
        ADD COLUMN notices_count integer NOT NULL DEFAULT 0; -- mails on that day about the account's security
    `);
  },
};
