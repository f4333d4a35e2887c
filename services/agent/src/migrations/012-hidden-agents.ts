import type { Migration } from '@parley/postgres/database/types';

export const hiddenAgents: Migration = {
  name: '012-hidden-agents',
  async up(knex) {
    await knex.raw(`
      -- A tenant's live hidden agents are counted before another one is made.
      CREATE INDEX agents_hidden ON agents (tenant_id) WHERE deleted_at IS NULL AND hidden;
    `);
  },
};
