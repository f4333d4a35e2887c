import type { Migration } from '@parley/postgres/database/types';

export const operators: Migration = {
  name: '010-operators',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE tenants
        ADD COLUMN monthly_llm_cap_usd numeric(11, 2) CHECK (monthly_llm_cap_usd > 0); -- its own, set by an operator

      CREATE OR REPLACE VIEW tenant_plans AS
        SELECT id AS tenant_id, plan, primary_billing_account = 'IDP_ONE' AND idp_one_billing_confirmed AS idp_one_bills,
               monthly_llm_cap_usd AS own_cap_usd
          FROM tenants WHERE id = current_setting('parley.tenant')::int AND deleted_at IS NULL LIMIT 1;

      CREATE TABLE tenant_secrets (
        tenant_id integer NOT NULL,
        name text NOT NULL,
        value_sealed bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, name)
      );

      CREATE TABLE operator_audit (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT parley_now(),
        operator text NOT NULL,
        action text NOT NULL,
        tenant_id integer,
        user_id integer,
        facts jsonb NOT NULL, -- what has changed, without secrets
        request_id text NOT NULL
      );
      CREATE INDEX operator_audit_tenant ON operator_audit (tenant_id, id) WHERE tenant_id IS NOT NULL;
      CREATE INDEX operator_audit_user ON operator_audit (user_id, id) WHERE user_id IS NOT NULL;
    `);
  },
};
