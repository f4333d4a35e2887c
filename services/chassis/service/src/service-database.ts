import type { Environment } from '@parley/kernel/settings/config';
import { readDatabaseUrls, requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';

/**
 * The database of one service: at the URL of its settings, else at `fallbackUrl`.
 * @throws SettingsError where there is neither.
 */
export function serviceDatabase(
  env: Environment,
  schema: SchemaDeclaration,
  poolSize: number,
  fallbackUrl?: string,
): Database {
  if (fallbackUrl !== undefined && readDatabaseUrls(env, schema.name).url === undefined) {
    return openDatabase({ url: fallbackUrl, schema, poolSize });
  }
  return openDatabase({ ...requireDatabaseUrls(env, schema.name), schema, poolSize });
}
