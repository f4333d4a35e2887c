import type { Migration } from '@parley/postgres/database/types';

export const embedAgents: Migration = {
  name: '010-embed-agents',
  async up(knex) {
    await knex.raw(`
      -- Of a hidden agent: the persona that it was made for, while it is as it was made.
      ALTER TABLE agents ADD COLUMN persona_sha256 bytea;
      CREATE UNIQUE INDEX agents_of_persona ON agents (tenant_id, persona_sha256)
        WHERE persona_sha256 IS NOT NULL AND deleted_at IS NULL;
    `);
  },
};
