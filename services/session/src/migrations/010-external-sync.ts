import type { Migration } from '@parley/postgres/database/types';

export const externalSync: Migration = {
  name: '010-external-sync',
  async up(knex) {
    await knex.raw(`
      -- Deliveries of evaluations to customers' systems: one for each session whose agent has a URL for them.
      CREATE TABLE sync_deliveries (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        agent_id integer NOT NULL,
        session_id integer NOT NULL,
        webhook_id text NOT NULL,
        status text NOT NULL CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
        -- Attempts begun.
        attempts integer NOT NULL DEFAULT 0,
        -- Attempts that have failed since the delivery was created, or since an operator last restarted it.
        failures integer NOT NULL DEFAULT 0,
        last_error text,
        next_attempt_at timestamptz,
        retry_until timestamptz NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        delivered_at timestamptz,
        -- Null while it is PENDING.
        finished_at timestamptz CHECK ((finished_at IS NULL) = (status = 'PENDING')),
        UNIQUE (tenant_id, session_id)
      );
      CREATE INDEX sync_deliveries_of_agent ON sync_deliveries (tenant_id, agent_id, id);
      CREATE INDEX sync_deliveries_newest ON sync_deliveries (tenant_id, id);
      CREATE INDEX sync_deliveries_finished ON sync_deliveries (tenant_id, finished_at) WHERE finished_at IS NOT NULL;

      -- Days on which deliveries of a tenant have ended, so that a sweep of all tenants finds old deliveries.
      CREATE TABLE sync_delivery_days (
        tenant_id integer NOT NULL,
        day date NOT NULL,
        PRIMARY KEY (tenant_id, day)
      );
      CREATE INDEX sync_delivery_days_age ON sync_delivery_days (day);

      -- What operators have changed, and who.
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
