import type { Migration } from '@parley/postgres/database/types';

export const messageModels: Migration = {
  name: '004-message-models',
  async up(knex) {
    await knex.raw('ALTER TABLE messages ADD COLUMN model_id text');
  },
};
