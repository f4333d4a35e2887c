import type { EventBus } from '@parley/events/event-bus';
import type { Part } from '@parley/kernel/processes/unit';
import { type Environment, readAll, readSettings } from '@parley/kernel/settings/config';
import { poolSizeSetting } from '@parley/kernel/settings/shared-settings';
import { absentObjectStore, type ObjectStore } from '@parley/objects/object-store';
import { requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { connectUnit } from '@parley/unit/connect-unit';
import { serviceDatabase } from './service-database.ts';
import type { ServiceDependencies } from './service-dependencies.ts';

/** Additional options of a service. */
export interface ServiceNeeds {
  /** The name of the service's database schema. */
  schema?: string | undefined;
  /** Connects the service to its event bus: `processEventBus`. */
  events?: ((env: Environment) => EventBus) | undefined;
  /** Connects the service to its object store, e.g. `s3Files` of `@parley/s3`. */
  files?: ((env: Environment) => ObjectStore) | undefined;
}

/**
 * Makes the dependencies of a service in its own process, as configured by the environment. Engines that the service does not declare are
 * neither configured nor connected, and calls to them fail.
 * - Database: `DATABASE_URL`, or the service's own setting (`SESSION_DATABASE_URL`). `scripts/migrate` migrates the database beforehand.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function connectService(env: Environment, { schema, events, files }: ServiceNeeds): ServiceDependencies & Part {
  const connected = readAll({
    unit: () => connectUnit(env),
    poolSize: () => (schema === undefined ? 0 : readSettings(env, { size: poolSizeSetting }).size),
    urls: () => schema !== undefined && requireDatabaseUrls(env, schema),
    eventBus: () => events?.(env) ?? absentEventBus,
    objectStore: () => files?.(env) ?? absentObjectStore('this service declares no files'),
  });
  const { unit, poolSize, eventBus, objectStore } = connected;

  return {
    ...unit,
    database: (declared) => serviceDatabase(env, declared, poolSize),
    eventBus,
    objectStore,
    migrateOnStart: false,
    soleOwner: false,
    async stop() {
      await Promise.all([eventBus.close(), objectStore.close()]);
      await unit.stop();
    },
  };
}

const noEvents = () => Promise.reject(new Error('This service declares no events'));
const absentEventBus: EventBus = { publish: noEvents, subscribe: noEvents, close: async () => undefined };
