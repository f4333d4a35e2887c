import { type Environment, readAll, SettingsError } from '@parley/kernel/config';
import { requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { migrateSchema } from '@parley/postgres/database/migrate';
import type { SchemaDeclaration } from '@parley/postgres/database/types';

/** Where the outcome is written. */
export interface Terminal {
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
}

/**
 * Migrates one schema after the other and prints for each what was applied. It stops at the first that fails: what came
 * before stays done, and the next call goes on from there.
 * @returns the exit code of the process.
 */
export async function migrateAll(schemas: SchemaDeclaration[], env: Environment, terminal: Terminal): Promise<0 | 1> {
  const width = Math.max(...schemas.map(({ name }) => name.length));
  let current = '';
  try {
    const withUrls = (schema: SchemaDeclaration) => () => ({ schema, ...requireDatabaseUrls(env, schema.name) });
    const databases = readAll(Object.fromEntries(schemas.map((schema) => [schema.name, withUrls(schema)])));
    for (const { schema, url, migrationsUrl = url } of Object.values(databases)) {
      current = `${schema.name}: `;
      const applied = await migrateSchema({ url: migrationsUrl, appUrl: url, schema, schemaName: schema.name });
      terminal.stdout.write(`${schema.name.padEnd(width)}  ${applied.join(', ') || 'is up to date'}\n`);
    }
    return 0;
  } catch (error) {
    terminal.stderr.write(`${error instanceof SettingsError ? '' : current}${reasonOf(error)}\n`);
    return 1;
  }
}

/** Adds the causes, because "The database is not available" alone does not say why. None of these messages contains a URL. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error.cause === undefined ? error.message : `${error.message} (${reasonOf(error.cause)})`;
}
