import type { Migration } from '@parley/postgres/database/types';

export const messageCitations: Migration = {
  name: '006-message-citations',
  async up(knex) {
    await knex.raw('ALTER TABLE messages ADD COLUMN citations jsonb');
  },
};
