import type { Migration } from '@parley/postgres/database/types';

export const avatarConfigs: Migration = {
  name: '003-avatar-configs',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE avatar_configs (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL UNIQUE,
        gender text NOT NULL CHECK (gender IN ('FEMALE', 'MALE')),
        glb_model text NOT NULL,
        voice_tier text NOT NULL CHECK (voice_tier IN ('STANDARD', 'WAVENET', 'NEURAL2')),
        language_code text NOT NULL,
        speaking_rate double precision NOT NULL,
        live_talking_url text,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now()
      );
    `);
  },
};
