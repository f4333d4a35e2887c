import { createCallers } from './caller.ts';
import { type Environment, readAll, readSettings } from './config.ts';
import { readDatabaseUrls, requireDatabaseUrls } from './database/database-urls.ts';
import { openDatabase } from './database/open.ts';
import type { Database, SchemaDeclaration } from './database/types.ts';
import { memoryEventLog } from './event-log/memory-event-log.ts';
import { inProcessEventBus } from './events/in-process-event-bus.ts';
import { kafkaBusOf } from './events/kafka-settings.ts';
import { memoryKeyValue } from './key-value/memory-key-value.ts';
import { createLogger } from './log.ts';
import { absentObjectStore } from './object-store/object-store.ts';
import { s3ObjectStore } from './object-store/s3-object-store.ts';
import { redisEngines } from './redis/redis-engines.ts';
import { unitProcessSettings } from './shared-settings.ts';
import { createAddresses, type Surroundings } from './surroundings.ts';
import type { Part } from './unit.ts';

/**
 * The surroundings of a unit that runs as a process of its own, from the environment. A unit with a schema needs `DATABASE_URL`, or
 * one of its own (`SESSION_DATABASE_URL`); schemas are brought up to date beforehand by `scripts/migrate`.
 * With `REDIS_URL`, key-value and event log are shared by all processes, with `KAFKA_BROKERS` the event bus; else they are
 * this process's own, and units that share them have to share a process. Files are in the bucket of `S3_ENDPOINT`; without it
 * whoever wants one is told that there is none. In production all three must be given. Topics are made beforehand by
 * `scripts/topics`.
 * @param schema the database schema of the unit; left out where it has none.
 * @throws SettingsError naming all that is missing or wrong.
 */
export function connectSurroundings(env: Environment, schema?: string): Surroundings & Part {
  // In production the engines are required: with its own counters and live events a process knows nothing of the others; alone
  // on its own bus it would publish to nobody, and the outbox would take its events for delivered.
  const { settings } = readAll({
    settings: () => readSettings(env, unitProcessSettings),
    database: () => schema !== undefined && requireDatabaseUrls(env, schema),
  });
  const { s3, redisUrl, kafka } = settings;

  const redis = redisUrl === undefined ? undefined : redisEngines(redisUrl, createLogger('redis'));
  const { keyValue, eventLog } = redis ?? {
    keyValue: memoryKeyValue(),
    eventLog: memoryEventLog({ maxBytes: settings.eventLogMaxBytes }),
  };
  const eventBus =
    kafkaBusOf(kafka, createLogger('kafka')) ??
    inProcessEventBus({
      deadLetters: { append: () => Promise.reject(new Error('A process of its own keeps no dead letters')) },
    });
  const objectStore = s3 ? s3ObjectStore(s3) : absentObjectStore();

  return {
    name: 'engines',
    database: (declared) => serviceDatabase(env, declared, settings.databasePoolSize),
    keyValue,
    eventLog,
    eventBus,
    objectStore,
    addresses: createAddresses(env),
    callers: createCallers(settings.meshKey),
    host: settings.host,
    migrateOnStart: false,
    soleOwner: false,
    development: env.NODE_ENV !== 'production',
    async start() {
      await redis?.start();
    },
    async stop() {
      await Promise.all([eventBus.close(), eventLog.close(), keyValue.close(), objectStore.close()]);
      await redis?.stop();
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
