import type { Knex } from 'knex';
import { internalMigrations, migrationsTable } from './internal-tables.ts';
import type { SchemaDeclaration } from './types.ts';

/** Returns the names of the migrations that `migrateSchema` would apply, in order. The login must be the owner of the schema. */
export async function pendingMigrations(pool: Knex, schema: SchemaDeclaration, schemaName = schema.name) {
  const applied: string[] = await pool(migrationsTable).withSchema(schemaName).pluck('name');
  const declared = [...internalMigrations, ...schema.migrations].map(({ name }) => name);
  return declared.filter((name) => !applied.includes(name));
}
