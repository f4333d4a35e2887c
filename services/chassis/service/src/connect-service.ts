import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { kafkaBusOf } from '@parley/events/kafka-settings';
import { type Environment, readAll, readSettings } from '@parley/kernel/config';
import { createLogger } from '@parley/kernel/log';
import { dataSettings } from '@parley/kernel/shared-settings';
import type { Part } from '@parley/kernel/unit';
import { absentObjectStore } from '@parley/objects/object-store';
import { s3ObjectStore } from '@parley/objects/s3-object-store';
import { readDatabaseUrls, requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { openDatabase } from '@parley/postgres/database/open';
import type { Database, SchemaDeclaration } from '@parley/postgres/database/types';
import { connectUnit } from '@parley/unit/connect-unit';
import type { ServiceDependencies } from './service-dependencies.ts';

/**
 * The dependencies of a service in a process of its own, from the environment. Production requires all of these settings.
 * - Database: a service with a schema needs `DATABASE_URL`, or one of its own (`SESSION_DATABASE_URL`). `scripts/migrate` migrates it
 *   beforehand.
 * - Events: with `KAFKA_BROKERS` all processes share them, else the bus is in memory. `scripts/topics` creates the topics beforehand.
 * - Files: in the bucket of `S3_ENDPOINT`; without it each call of the object store is `unavailable`.
 * @param schema name of the service's database schema; left out where it has none.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function connectService(env: Environment, schema?: string): ServiceDependencies & Part {
  const { settings, unit } = readAll({
    unit: () => connectUnit(env),
    settings: () => readSettings(env, dataSettings),
    database: () => schema !== undefined && requireDatabaseUrls(env, schema),
  });
  const { s3, kafka } = settings;
  // Only outside production, where brokers are required: events in memory would count as delivered and reach no other process.
  const eventBus =
    kafkaBusOf(kafka, createLogger('kafka')) ??
    inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('An in-memory bus keeps no dead letters')) },
    });
  const objectStore = s3 ? s3ObjectStore(s3) : absentObjectStore();

  return {
    ...unit,
    database: (declared) => serviceDatabase(env, declared, settings.databasePoolSize),
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
