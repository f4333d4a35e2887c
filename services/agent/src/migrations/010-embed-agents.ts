import type { Migration } from '@parley/postgres/database/types';

export const embedAgents: Migration = {
  name: '010-embed-agents',
  async up(knex) {
    await knex.raw(`
      -- The hash of the persona that a hidden agent was created for; null once the agent has been changed.
      ALTER TABLE agents ADD COLUMN persona_sha256 bytea;
      CREATE UNIQUE INDEX agents_of_persona ON agents (tenant_id, persona_sha256)
        WHERE persona_sha256 IS NOT NULL AND deleted_at IS NULL;
    `);
  },
};
