import type { Migration } from '@parley/postgres/database/types';

export const people: Migration = {
  name: '001-people',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE users (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        email text, -- trimmed and lower-cased
        fullname text NOT NULL,
        username text,
        password_hash text,
        phone_code text, -- as given
        phone_number text, -- the national digits as given
        phone_e164 text,
        phone_national text, -- the significant national digits without leading zeros: for login by national number
        id_type text,
        id_no_sealed bytea,
        id_no_index bytea, -- HMAC of the number
        id_document_index bytea, -- HMAC of type and number
        referral_code text NOT NULL,
        referrer_id integer REFERENCES users (id),
        status text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'SUSPENDED')),
        two_factor_secret_sealed bytea,
        last_tenant_id integer, -- the tenant chosen last: where new sign-ins begin
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        deleted_at timestamptz
      );
      CREATE UNIQUE INDEX users_email_live ON users (email) WHERE deleted_at IS NULL;
      CREATE UNIQUE INDEX users_phone_live ON users (phone_e164) WHERE deleted_at IS NULL;
      CREATE UNIQUE INDEX users_id_document_live ON users (id_document_index) WHERE deleted_at IS NULL;
      CREATE UNIQUE INDEX users_referral_code ON users (referral_code);
      CREATE INDEX users_phone_number ON users (phone_number) WHERE deleted_at IS NULL;
      CREATE INDEX users_phone_national ON users (phone_national) WHERE deleted_at IS NULL;
      CREATE INDEX users_id_no ON users (id_no_index) WHERE deleted_at IS NULL;

      CREATE TABLE tenants (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL,
        plan text NOT NULL CHECK (plan IN ('DEV', 'PRO', 'ENTERPRISE')),
        region text,
        -- A tenant is suspended while either flag is true. The owner sets the first, operators the second.
        suspended_by_tenant boolean NOT NULL DEFAULT false,
        suspended_by_operator boolean NOT NULL DEFAULT false,
        llm_provider_override text,
        llm_model_override text,
        primary_billing_account text NOT NULL DEFAULT 'PLATFORM'
          CHECK (primary_billing_account IN ('IDP_ONE', 'PLATFORM')),
        created_by integer NOT NULL REFERENCES users (id),
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        deleted_at timestamptz
      );
      CREATE INDEX tenants_created_by ON tenants (created_by, created_at);

      CREATE TABLE memberships (
        user_id integer NOT NULL REFERENCES users (id),
        tenant_id integer NOT NULL REFERENCES tenants (id),
        role text NOT NULL CHECK (role IN ('OWNER', 'MEMBER')),
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (user_id, tenant_id)
      );
      CREATE INDEX memberships_tenant ON memberships (tenant_id);
      CREATE UNIQUE INDEX memberships_owner ON memberships (tenant_id) WHERE role = 'OWNER';

      CREATE TABLE sign_ins (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id integer NOT NULL REFERENCES users (id),
        tenant_id integer REFERENCES tenants (id), -- the tenant in use
        limited_reason text, -- why it may do next to nothing yet; null: it is complete
        ip text, -- the client's address when it began
        fcm_token_sealed bytea, -- for push notifications to this device
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        revoked_at timestamptz
      );
      CREATE INDEX sign_ins_user ON sign_ins (user_id);
      CREATE INDEX sign_ins_tenant ON sign_ins (tenant_id) WHERE tenant_id IS NOT NULL;

      CREATE TABLE refresh_tokens (
        token_sha256 bytea PRIMARY KEY,
        sign_in_id uuid NOT NULL REFERENCES sign_ins (id) ON DELETE CASCADE,
        parent_sha256 bytea UNIQUE, -- one successor each, whoever races
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        expires_at timestamptz NOT NULL,
        rotated_at timestamptz
      );
      CREATE INDEX refresh_tokens_sign_in ON refresh_tokens (sign_in_id, expires_at);

      CREATE TABLE api_keys (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL REFERENCES tenants (id),
        key_sha256 bytea NOT NULL UNIQUE,
        created_by integer NOT NULL REFERENCES users (id),
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        revoked_at timestamptz
      );
      CREATE UNIQUE INDEX api_keys_live ON api_keys (tenant_id) WHERE revoked_at IS NULL;
    `);
  },
};
