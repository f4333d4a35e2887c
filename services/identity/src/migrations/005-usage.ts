import type { Migration } from '@parley/postgres/database/types';

export const usage: Migration = {
  name: '005-usage',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE tenants ADD COLUMN idp_one_billing_confirmed boolean NOT NULL DEFAULT false; -- by the operator

      -- The limits on the spend of the transaction's tenant. A view, so that one statement under the tenant's role can
      -- read the plan and reserve. LIMIT makes the view read-only.
      CREATE VIEW tenant_plans AS
        SELECT id AS tenant_id, plan, primary_billing_account = 'IDP_ONE' AND idp_one_billing_confirmed AS idp_one_bills
          FROM tenants WHERE id = current_setting('parley.tenant')::int AND deleted_at IS NULL LIMIT 1;

      CREATE TABLE usage_calls (
        tenant_id integer NOT NULL,
        call_id text NOT NULL,
        month date NOT NULL, -- the first day of the month, in UTC, that the cost counts in
        operation text NOT NULL,
        provider_id text NOT NULL,
        model_id text NOT NULL,
        api_key_id integer,
        agent_id integer,
        session_id integer,
        tokens_in integer NOT NULL,
        tokens_cached integer NOT NULL,
        tokens_out integer NOT NULL,
        cost_usd numeric(14, 8) NOT NULL,
        estimated boolean NOT NULL,
        served boolean NOT NULL,
        lease_ended boolean NOT NULL, -- recorded at its estimate, because its caller was gone; a late settlement replaces it
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, call_id)
      );
      -- For reports. It does not begin with the tenant, so that the planner does not choose it to find a single call.
      CREATE INDEX usage_calls_reported ON usage_calls (month, tenant_id, created_at);

      -- Running totals. For a month: the costs of its calls and of its open reservations. For all time: the number of
      -- served calls.
      CREATE TABLE usage_months (
        tenant_id integer NOT NULL,
        month date NOT NULL,
        spent_usd numeric(20, 8) NOT NULL DEFAULT 0,
        reserved_usd numeric(20, 8) NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant_id, month)
      );
      CREATE TABLE usage_counts (
        tenant_id integer NOT NULL,
        model text NOT NULL,
        operation text NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (tenant_id, model, operation)
      );
      CREATE TABLE platform_months (
        month date NOT NULL,
        shard integer NOT NULL, -- of the tenant's id, so that tenants seldom wait for one row
        spent_usd numeric(20, 8) NOT NULL DEFAULT 0,
        reserved_usd numeric(20, 8) NOT NULL DEFAULT 0,
        PRIMARY KEY (month, shard)
      );

      CREATE TABLE usage_reservations (
        tenant_id integer NOT NULL,
        call_id text NOT NULL,
        month date NOT NULL,
        operation text NOT NULL,
        provider_id text NOT NULL,
        model_id text NOT NULL,
        api_key_id integer,
        agent_id integer,
        session_id integer,
        tokens_in integer NOT NULL,
        tokens_cached integer NOT NULL,
        tokens_out integer NOT NULL,
        cost_usd numeric(14, 8) NOT NULL,
        begun boolean NOT NULL, -- whether the provider may have been asked
        lease_until timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, call_id)
      );
      CREATE INDEX usage_reservations_lease ON usage_reservations (lease_until);
    `);
  },
};
