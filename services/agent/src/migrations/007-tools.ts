import type { Migration } from '@parley/postgres/database/types';

export const tools: Migration = {
  name: '007-tools',
  async up(knex) {
    await knex.raw(`
      -- [{connectorId, tool} or {actionId}]: tools of another service, which may have been deleted since. Null means
      -- none.
      ALTER TABLE agents ADD COLUMN tools jsonb CHECK (jsonb_array_length(tools) BETWEEN 1 AND 20)`);
  },
};
