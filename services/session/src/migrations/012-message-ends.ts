import type { Migration } from '@parley/postgres/database/types';

/** How a model's reply ended, and whether its tokens are estimates. Null for earlier messages and for USER messages. */
export const messageEnds: Migration = {
  name: '012-message-ends',
  async up(knex) {
    await knex.raw('ALTER TABLE messages ADD COLUMN finish_reason text, ADD COLUMN tokens_estimated boolean');
  },
};
