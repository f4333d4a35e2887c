import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { databaseSettings } from '@parley/kernel/settings/shared-settings';

/** The database URLs of one service that are set in the environment. */
export interface DatabaseUrls {
  /** The URL with the login of the service. */
  url: string | undefined;
  /** The URL with the login that owns the schema, if that is a different one. */
  migrationsUrl: string | undefined;
}

/**
 * Reads `<SERVICE>_DATABASE_URL`, else `DATABASE_URL`, and `<SERVICE>_MIGRATIONS_DATABASE_URL`, else `MIGRATIONS_DATABASE_URL`.
 * @throws SettingsError if one of them is not a PostgreSQL URL
 */
export function readDatabaseUrls(env: Environment, service: string): DatabaseUrls {
  const { shared, own } = readSettings(env, databaseSettings(service));
  return { url: own.url ?? shared.url, migrationsUrl: own.migrationsUrl ?? shared.migrationsUrl };
}

/** Reads the URLs of a required database. @throws SettingsError also if no URL is set. */
export function requireDatabaseUrls(env: Environment, service: string): DatabaseUrls & { url: string } {
  const { url, migrationsUrl } = readDatabaseUrls(env, service);
  if (url === undefined) {
    throw new SettingsError([`DATABASE_URL or ${service.toUpperCase()}_DATABASE_URL: is missing`]);
  }
  return { url, migrationsUrl };
}
