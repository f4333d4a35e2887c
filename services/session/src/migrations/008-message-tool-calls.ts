import type { Migration } from '@parley/postgres/database/types';

export const messageToolCalls: Migration = {
  name: '008-message-tool-calls',
  async up(knex) {
    await knex.raw('ALTER TABLE messages ADD COLUMN tool_calls jsonb');
  },
};
