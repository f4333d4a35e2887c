import type { Environment } from '@parley/kernel/settings/config';
import type { ConnectionQueue } from '@parley/postgres/database/connection-queue';
import { readDatabaseUrls, requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';

/** A database that is used if the settings name none. */
export interface Fallback {
  url: string;
  /** Shared by the services that use it. */
  sharedQueue: ConnectionQueue;
}

/** The database of one service: at the URL of its settings, else the fallback. @throws SettingsError if there is neither */
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
