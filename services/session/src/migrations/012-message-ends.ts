import type { Migration } from '@parley/postgres/database/types';

/** How the reply of a model ended, and whether its tokens are estimates; null for messages before, and those of people. */
export const messageEnds: Migration = {
  name: '012-message-ends',
  async up(knex) {
    await knex.raw('ALTER TABLE messages ADD COLUMN finish_reason text, ADD COLUMN tokens_estimated boolean');
  },
};
