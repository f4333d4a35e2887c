import { jobsMigrations } from '../jobs/migrations.ts';
import type { Migration, SchemaDeclaration, TableKind } from './types.ts';

/** The tables that the chassis adds to every schema. */
export const plumbingTables = ['outbox', 'inbox', 'jobs'];

/** Where knex keeps which migrations have been applied, and the tables that this makes. */
export const bookkeepingTable = 'migrations';
export const bookkeepingTables = [bookkeepingTable, `${bookkeepingTable}_lock`];

/** All tables of a schema by kind, with the plumbing that every schema has. */
export function tablesOf(schema: SchemaDeclaration): Record<string, TableKind> {
  return { ...schema.tables, ...Object.fromEntries(plumbingTables.map((table) => [table, 'plumbing' as const])) };
}

/** Run before a service's own; their names bear a prefix, so that a service's never collide with them. */
export const plumbingMigrations: Migration[] = [
  {
    name: 'chassis/001-outbox',
    async up(knex) {
      await knex.raw(`
        CREATE TABLE outbox (
          position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          id uuid NOT NULL DEFAULT gen_random_uuid(),
          tenant_id integer NOT NULL,
          topic text NOT NULL,
          type text NOT NULL,
          key text NOT NULL,
          data bytea NOT NULL,
          traceparent text,
          created_at timestamptz NOT NULL DEFAULT parley_now(),
          attempts integer NOT NULL DEFAULT 0,
          -- Until then nobody else takes this row or a later one of its key: it is being published by claimed_by,
          -- or (claimed_by null) waits for its next attempt.
          claimed_by uuid,
          claimed_until timestamptz
        );
        CREATE INDEX outbox_claims ON outbox (topic, key, claimed_until) WHERE claimed_until IS NOT NULL;
      `);
    },
  },
  {
    name: 'chassis/001-inbox',
    async up(knex) {
      await knex.raw(`
        CREATE TABLE inbox (
          consumer text NOT NULL,
          event_id text NOT NULL,
          tenant_id integer,
          taken_at timestamptz NOT NULL DEFAULT parley_now(),
          PRIMARY KEY (consumer, event_id)
        );
        CREATE INDEX inbox_taken_at ON inbox (taken_at);
      `);
    },
  },
  ...jobsMigrations.map((migration) => ({ ...migration, name: `chassis/${migration.name}` })),
];
