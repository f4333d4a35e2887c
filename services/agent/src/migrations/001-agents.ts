import type { Migration } from '@parley/postgres/database/types';

export const agents: Migration = {
  name: '001-agents',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE workflows (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        name text NOT NULL,
        -- Null until the first publication.
        published_version integer,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id)
      );

      CREATE TABLE agents (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        name text NOT NULL,
        persona_prompt text NOT NULL,
        position text NOT NULL,
        subject text,
        opening_greeting text,
        use_case text NOT NULL
          CHECK (use_case IN ('CUSTOM', 'EDUCATION', 'INTERVIEW', 'ONBOARDING', 'SALES', 'SUPPORT')),
        status text NOT NULL CHECK (status IN ('ACTIVE', 'INACTIVE')),
        workflow_id integer,
        voice_tier text NOT NULL CHECK (voice_tier IN ('STANDARD', 'WAVENET', 'NEURAL2')),
        tts_voice text,
        tts_lang text,
        speaking_rate double precision CHECK (speaking_rate BETWEEN 0.25 AND 4),
        vad_threshold double precision NOT NULL CHECK (vad_threshold BETWEEN 0 AND 1),
        avatar_glb text,
        avatar_gender text CHECK (avatar_gender IN ('F', 'M')),
        lipsync_lang text,
        evaluation_prompt_template text,
        evaluation_recommendation_labels jsonb,
        external_sync_url text,
        external_sync_secret_ref text,
        external_sync_owner_id integer,
        external_sync_schema_config jsonb,
        llm_provider_override text
          CHECK (llm_provider_override IN ('CLOUD_HOSTED_MODELS', 'HOSTED_SMALL_MODEL', 'DIRECT_MODEL_API')),
        llm_model_override text,
        avatar_backend text NOT NULL CHECK (avatar_backend IN ('HOSTED_API', 'CLIENT_3D')),
        avatar_backend_config jsonb,
        -- True if an embed created the agent rather than the owner: the agent is neither listed nor counted.
        hidden boolean NOT NULL DEFAULT false,
        deleted_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        CHECK (avatar_backend <> 'HOSTED_API' OR avatar_backend_config IS NOT NULL),
        CONSTRAINT agents_workflow FOREIGN KEY (tenant_id, workflow_id) REFERENCES workflows (tenant_id, id)
      );
      CREATE INDEX agents_listed ON agents (tenant_id, id) WHERE deleted_at IS NULL AND NOT hidden;
      CREATE INDEX agents_of_workflow ON agents (tenant_id, workflow_id) WHERE workflow_id IS NOT NULL;

      CREATE TABLE agent_audit_logs (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        agent_id integer NOT NULL,
        action text NOT NULL CHECK (action IN ('CREATE', 'UPDATE', 'DELETE')),
        -- The user at that time. Not a foreign key, because entries outlive users.
        user_id integer,
        username text,
        changes jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        FOREIGN KEY (tenant_id, agent_id) REFERENCES agents (tenant_id, id)
      );
      CREATE INDEX agent_audit_logs_of_agent ON agent_audit_logs (tenant_id, agent_id, id);
    `);
  },
};
