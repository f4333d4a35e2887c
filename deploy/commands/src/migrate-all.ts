import { transactionError } from '@parley/kernel/database-errors';
import { type Environment, readAll } from '@parley/kernel/settings/config';
import { type DatabaseUrls, requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { migrateSchema, statementTimeoutMs, userOf } from '@parley/postgres/database/migrate';
import { missingRights } from '@parley/postgres/database/migration-rights';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import { openPool } from '@parley/postgres/driver/pool';

/**
 * Migrates the schemas one after the other and prints what was applied to each. Stops at the first failure: earlier schemas stay migrated,
 * and the next call continues with the schema that failed.
 * @throws SettingsError that lists all missing or wrong settings
 * @throws Error that lists all missing rights; nothing is migrated then
 * @throws Error that names the schema that failed, with the reason
 */
export async function migrateAll(schemas: SchemaDeclaration[], env: Environment, say: (line: string) => void) {
  const width = Math.max(...schemas.map(({ name }) => name.length));
  const withUrls = (schema: SchemaDeclaration) => () => ({ schema, ...requireDatabaseUrls(env, schema.name) });
  const databases = readAll(Object.fromEntries(schemas.map((schema) => [schema.name, withUrls(schema)])));
  await requireRights(Object.values(databases));
  for (const { schema, url, migrationsUrl = url } of Object.values(databases)) {
    const migrating = migrateSchema({ url: migrationsUrl, appUrl: url, schema, schemaName: schema.name });
    const applied = await migrating.catch((cause: unknown) => {
      throw new Error(`${schema.name}: ${reasonOf(cause)}`, { cause });
    });
    say(`${schema.name.padEnd(width)}  ${applied.join(', ') || 'is up to date'}`);
  }
}

type MigratedSchema = DatabaseUrls & { schema: SchemaDeclaration; url: string };

async function requireRights(databases: readonly MigratedSchema[]): Promise<void> {
  const missing = new Set<string>();
  for (const { schema, url, migrationsUrl = url } of databases) {
    const pool = openPool({ url: migrationsUrl, poolSize: 1, statementTimeoutMs });
    try {
      const rights = await missingRights(pool, schema, schema.name, userOf(url));
      for (const { found, change } of rights) missing.add(`${found}. ${change}`);
    } catch (error) {
      throw new Error(`${schema.name}: ${reasonOf(transactionError(error))}`, { cause: error });
    } finally {
      await pool.destroy();
    }
  }
  if (missing.size > 0) throw new Error(`Nothing was migrated:\n${[...missing].join('\n')}`);
}

/**
 * Returns the message of an error with the messages of its causes, because "The database is not available" alone does not explain the
 * problem. None of these messages contains a URL.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error.cause === undefined ? error.message : `${error.message} (${reasonOf(error.cause)})`;
}
