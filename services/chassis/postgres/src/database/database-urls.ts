import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import { databaseSettings } from '@parley/kernel/settings/shared-settings';

/** The database URLs of one service that are set in the environment. */
export interface DatabaseUrls {
  /** The URL with the login of the service. */
  url: string | undefined;
  /** The URL with the login that owns the schema, if this is not the login of the service. */
  migrationsUrl: string | undefined;
}

/**
 * Reads two URLs: `<SERVICE>_DATABASE_URL`, or `DATABASE_URL` if it is not set; and `<SERVICE>_MIGRATIONS_DATABASE_URL`, or
 * `MIGRATIONS_DATABASE_URL` if it is not set.
 * @throws SettingsError if one of them is not a PostgreSQL URL
 */
export function readDatabaseUrls(env: Environment, service: string): DatabaseUrls {
  const { shared, own } = readSettings(env, databaseSettings(service));
  return { url: own.url ?? shared.url, migrationsUrl: own.migrationsUrl ?? shared.migrationsUrl };
}

/**
 * Reads the URLs of a required database.
 * @throws SettingsError if no URL is set, or if one is not a PostgreSQL URL
 */
export function requireDatabaseUrls(env: Environment, service: string): DatabaseUrls & { url: string } {
  const { url, migrationsUrl } = readDatabaseUrls(env, service);
  if (url === undefined) {
    throw new SettingsError([`DATABASE_URL or ${service.toUpperCase()}_DATABASE_URL: is missing`]);
  }
  return { url, migrationsUrl };
}
