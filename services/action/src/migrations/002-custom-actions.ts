import type { Migration } from '@parley/postgres/database/types';

export const customActions: Migration = {
  name: '002-custom-actions',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE custom_actions (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        name text NOT NULL,
        description text,
        url text NOT NULL,
        method text NOT NULL CHECK (method IN ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
        -- The type json keeps the order of properties, which models see.
        args_schema json,
        extra_headers json,
        credential_secret_header_name text,
        credential_source text CHECK (credential_source IN ('MESSAGING_TENANT', 'PARTNER_A', 'PARTNER_B', 'PARTNER_C',
          'SESSION_PARTNER_A', 'SESSION_PARTNER_B', 'SESSION_PARTNER_C')),
        stored_credential text CHECK (stored_credential IN ('BEARER', 'MESSAGING')),
        messaging_region text CHECK (messaging_region IN ('REGION_CN', 'REGION_INTL')),
        -- A credential of the kind stored_credential. Null only within the transaction that inserts the row, and after the action is deleted.
        credential_sealed bytea,
        deleted_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        CHECK (stored_credential IS NOT NULL OR credential_sealed IS NULL)
      );
      CREATE INDEX custom_actions_listed ON custom_actions (tenant_id, id) WHERE deleted_at IS NULL;

      CREATE TABLE partner_credentials (
        tenant_id integer NOT NULL,
        product text NOT NULL CHECK (product IN ('PARTNER_A', 'PARTNER_B', 'PARTNER_C')),
        token_sealed bytea NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, product)
      );

      -- Changes by operators and who made them; never a credential.
      CREATE TABLE operator_audit (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT parley_now(),
        operator text NOT NULL,
        action text NOT NULL,
        tenant_id integer NOT NULL,
        facts jsonb NOT NULL,
        request_id text NOT NULL
      );
      CREATE INDEX operator_audit_of_tenant ON operator_audit (tenant_id, id);
    `);
  },
};
