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
 * What a service that is a process of its own is given, from the environment: what every unit is, and the engines that keep data. One
 * with a schema needs `DATABASE_URL`, or one of its own (`SESSION_DATABASE_URL`); schemas are brought up to date beforehand by
 * `scripts/migrate`. With `KAFKA_BROKERS` the event bus is shared by all processes, else it is this process's own; topics are made
 * beforehand by `scripts/topics`. Files are in the bucket of `S3_ENDPOINT`; without it whoever wants one is told that there is none.
 * In production all must be given.
 * @param schema the database schema of the service; left out where it has none.
 * @throws SettingsError naming all that is missing or wrong.
 */
export function connectService(env: Environment, schema?: string): ServiceDependencies & Part {
  // In production the engines are required: alone on its own bus a process would publish to nobody, and the outbox would take its
  // events for delivered.
  const { settings, unit } = readAll({
    unit: () => connectUnit(env),
    settings: () => readSettings(env, dataSettings),
    database: () => schema !== undefined && requireDatabaseUrls(env, schema),
  });
  const { s3, kafka } = settings;
  const eventBus =
    kafkaBusOf(kafka, createLogger('kafka')) ??
    inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('A process of its own keeps no dead letters')) },
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
 * One service's database: where the settings say, else at `fallbackUrl`.
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
