import { jobsMigrations } from '../jobs/migrations.ts';
import type { Migration, SchemaDeclaration, TableKind } from './types.ts';

/** The tables that every schema has in addition to its own. */
const internalTables = ['outbox', 'inbox', 'jobs'];

/** The table in which knex records applied migrations. */
export const migrationsTable = 'migrations';
/** All tables that knex creates for its migrations. */
export const migrationsTables = [migrationsTable, `${migrationsTable}_lock`];

/** Returns all tables of a schema by kind, including the internal tables. */
export function tablesOf(schema: SchemaDeclaration): Record<string, TableKind> {
  return { ...schema.tables, ...Object.fromEntries(internalTables.map((table) => [table, 'internal' as const])) };
}

/** Migrations that are applied before the service's own; the prefix of their names prevents name collisions. */
export const internalMigrations: Migration[] = [
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
