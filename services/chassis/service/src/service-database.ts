import type { Environment } from '@parley/kernel/settings/config';
import type { ConnectionQueue } from '@parley/postgres/database/connection-queue';
import { readDatabaseUrls, requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';

/** The database to use if the settings name none. */
export interface Fallback {
  url: string;
  /** A queue that all services with this database share. */
  sharedQueue: ConnectionQueue;
}

/**
 * Makes the client of one service's database, at the URL of its settings, otherwise at the fallback's URL.
 * @throws SettingsError if both URLs are missing
 */
export function serviceDatabase(
  env: Environment,
  schema: SchemaDeclaration,
  poolSize: number,
  fallback?: Fallback,
): Database {
  if (fallback && readDatabaseUrls(env, schema.name).url === undefined) {
    return openDatabase({ ...fallback, schema, poolSize });
  }
  return openDatabase({ ...requireDatabaseUrls(env, schema.name), schema, poolSize });
}
