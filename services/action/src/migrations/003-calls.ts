import type { Migration } from '@parley/postgres/database/types';

export const calls: Migration = {
  name: '003-calls',
  async up(knex) {
    await knex.raw(`
      -- Processes that make calls. A running call is interrupted if the lease of its process has ended.
      CREATE TABLE calling_processes (
        -- Belongs to no tenant.
        tenant_id integer NOT NULL DEFAULT 0 CHECK (tenant_id = 0),
        id uuid PRIMARY KEY,
        lease_until timestamptz NOT NULL
      );

      -- Calls that turns have begun; each call is sent once.
      CREATE TABLE turn_calls (
        tenant_id integer NOT NULL,
        turn text NOT NULL,
        call text NOT NULL,
        -- Counts calls in the order in which they began.
        number bigint GENERATED ALWAYS AS IDENTITY,
        kind text NOT NULL CHECK (kind IN ('TOOL', 'ACTION')),
        target integer NOT NULL,
        tool_name text CHECK ((tool_name IS NOT NULL) = (kind = 'TOOL')),
        agent_id integer,
        session_id integer,
        process_id uuid NOT NULL,
        note_sealed bytea NOT NULL,
        arguments_sealed bytea NOT NULL,
        -- Null while the call runs.
        result_sealed bytea,
        begun_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, turn, call)
      );
      CREATE INDEX turn_calls_age ON turn_calls (begun_at);
      CREATE INDEX turn_calls_running ON turn_calls (process_id) WHERE result_sealed IS NULL;

      -- The last id of a tenant's outbound calls. Each tenant has its own ids, so that ids reveal nothing about other tenants.
      CREATE TABLE outbound_call_counters (
        tenant_id integer PRIMARY KEY,
        last_id integer NOT NULL
      );

      CREATE TABLE outbound_calls (
        tenant_id integer NOT NULL,
        id integer NOT NULL,
        at timestamptz NOT NULL,
        kind text NOT NULL CHECK (kind IN ('TOOL', 'TOOL_LIST', 'ACTION')),
        target integer NOT NULL,
        name text NOT NULL,
        status integer,
        duration_ms integer NOT NULL,
        bytes bigint NOT NULL,
        error_kind text,
        agent_id integer,
        session_id integer,
        PRIMARY KEY (tenant_id, id)
      );
      CREATE INDEX outbound_calls_age ON outbound_calls (tenant_id, at);

      -- Days on which a tenant logged calls, so that the sweep over all tenants finds old entries.
      CREATE TABLE outbound_call_days (
        tenant_id integer NOT NULL,
        day date NOT NULL,
        PRIMARY KEY (tenant_id, day)
      );
      CREATE INDEX outbound_call_days_age ON outbound_call_days (day);
    `);
  },
};
