import { type Environment, readAll } from '@parley/kernel/config';
import { requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { migrateSchema } from '@parley/postgres/database/migrate';
import type { SchemaDeclaration } from '@parley/postgres/database/types';

/**
 * Migrates one schema after the other and says for each what was applied. It stops at the first that fails: what came
 * before stays done, and the next call goes on from there.
 * @throws SettingsError for all settings that are missing or wrong; Error that names the schema that failed, with the reason.
 */
export async function migrateAll(schemas: SchemaDeclaration[], env: Environment, say: (line: string) => void) {
  const width = Math.max(...schemas.map(({ name }) => name.length));
  const withUrls = (schema: SchemaDeclaration) => () => ({ schema, ...requireDatabaseUrls(env, schema.name) });
  const databases = readAll(Object.fromEntries(schemas.map((schema) => [schema.name, withUrls(schema)])));
  for (const { schema, url, migrationsUrl = url } of Object.values(databases)) {
    const migrating = migrateSchema({ url: migrationsUrl, appUrl: url, schema, schemaName: schema.name });
    const applied = await migrating.catch((cause: unknown) => {
      throw new Error(`${schema.name}: ${reasonOf(cause)}`, { cause });
    });
    say(`${schema.name.padEnd(width)}  ${applied.join(', ') || 'is up to date'}`);
  }
}

/** Adds the causes, because "The database is not available" alone does not say why. None of these messages contains a URL. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error.cause === undefined ? error.message : `${error.message} (${reasonOf(error.cause)})`;
}
