import type { Migration } from '@parley/postgres/database/types';

export const connectors: Migration = {
  name: '001-connectors',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE mcp_connectors (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        name text NOT NULL,
        server_url text NOT NULL,
        -- Null only within the transaction that inserts the row, and after the connector is deleted.
        api_key_sealed bytea,
        deleted_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id)
      );
      CREATE INDEX mcp_connectors_listed ON mcp_connectors (tenant_id, id) WHERE deleted_at IS NULL;

      -- Hashes of the schemas of a connector's tools: when first seen, and now.
      CREATE TABLE tool_schemas (
        tenant_id integer NOT NULL,
        connector_id integer NOT NULL,
        name text NOT NULL,
        first_hash text NOT NULL,
        hash text NOT NULL,
        -- When a schema that differs from the first one was first seen.
        changed_at timestamptz,
        seen_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, connector_id, name),
        FOREIGN KEY (tenant_id, connector_id) REFERENCES mcp_connectors (tenant_id, id)
      );

      -- Tenants that have sealed values. The tables with sealed values show only the rows of one tenant at a time, so they cannot be
      -- searched for tenants.
      CREATE TABLE sealing_tenants (tenant_id integer PRIMARY KEY);
    `);
  },
};
