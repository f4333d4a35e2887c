import type { Environment } from '@parley/kernel/settings/config';
import { databaseSettings } from '@parley/kernel/settings/shared-settings';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import type { ListedUnit } from '@parley/units';
import { usable } from './installation.ts';

/** A URL of a database, with a login. */
export interface Login {
  url: string;
  /** The settings that contain the URL. */
  settings: string[];
}

/** A schema, with the logins that use it. */
export interface UsedSchema {
  schema: SchemaDeclaration;
  unit: ListedUnit;
  service: Login;
  /**
   * The login of `MIGRATIONS_DATABASE_URL`, which owns the schema; undefined if the unit has only `DATABASE_URL`, whose login then owns it.
   */
  migrations: Login | undefined;
}

/** Returns the schemas of the units whose settings can be read. */
export function usedSchemas(env: Environment, units: readonly ListedUnit[]): UsedSchema[] {
  return units.flatMap((unit) => {
    const { schema } = unit;
    if (!schema) return [];
    const { own, shared } = databaseSettings(schema.name);
    const login = (settings: readonly (typeof own.url)[]) =>
      settings.flatMap((url) => {
        const given = usable(env, { url })?.url;
        return given === undefined ? [] : [{ url: given, settings: [url.name] }];
      })[0];
    const service = login([own.url, shared.url]);
    const migrations = login([own.migrationsUrl, shared.migrationsUrl]);
    return service ? [{ schema, unit, service, migrations }] : [];
  });
}

/** Returns all logins without duplicates. */
export function loginsOf(schemas: readonly UsedSchema[]): Login[] {
  const all = schemas.flatMap(({ service, migrations }) => (migrations ? [service, migrations] : [service]));
  return [...Map.groupBy(all, ({ url }) => url)].map(([url, same]) => ({
    url,
    settings: [...new Set(same.flatMap(({ settings }) => settings))],
  }));
}
