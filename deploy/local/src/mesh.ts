import { join, resolve } from 'node:path';
import { createModels } from '@parley/agent/models';
import { type EmbeddedDatabase, startEmbeddedDatabase } from '@parley/embedded/embedded';
import { fileDeadLetters } from '@parley/events/dead-letters';
import { inProcessEventBus } from '@parley/events/in-process-event-bus';
import { createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { type Part, type Unit, unit } from '@parley/kernel/processes/unit';
import {
  type Environment,
  readAll,
  readSettings,
  SettingsError,
  unknownSettings,
  warnOfUnknownSettings,
} from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import { readTracing } from '@parley/kernel/telemetry/telemetry';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { connectionQueue } from '@parley/postgres/database/connection-queue';
import { readDatabaseUrls } from '@parley/postgres/database/database-urls';
import { serviceDatabase } from '@parley/service/service-database';
import type { ServiceDependencies } from '@parley/service/service-dependencies';
import type { UnitConfig } from '@parley/unit/declaration';
import { schemas, topics, unitNames } from '@parley/units';
import { oneProcessSettings } from '@parley/units/settings';
import { publishAddresses } from './addresses-file.ts';
import { withKeys } from './keys.ts';
import { groupsOf, loadUnits } from './load-units.ts';
import { unitSettings } from './mesh-settings.ts';
import { localStorage } from './storage.ts';

export interface LocalMeshOptions {
  /** The folder for the mesh's data. */
  dataFolder: string;
  /** A snapshot of an empty database cluster, which makes the first start faster. For tests. */
  databaseSnapshot?: string;
}

/**
 * Maximum number of transactions that are sent to the embedded database at once. Its only session runs them one after the other. One
 * transaction runs, a second one can start as soon as the first ends, and the third place is for an urgent one. With a higher limit, an
 * urgent transaction would wait inside the database behind all others.
 */
const embeddedTransactions = 3;

/**
 * Makes the whole mesh in one process: every unit has its own ports, calls between units are real, and the engines run in this process.
 * Reads all settings and reports the problems of all units at once.
 * @throws SettingsError if settings are missing or wrong
 */
export async function localMesh(given: Environment, { dataFolder, databaseSnapshot }: LocalMeshOptions) {
  const folder = resolve(dataFolder);
  const env: Environment = { ...(await withKeys(given, folder)), PARLEY_DATA_DIR: folder };
  const { tracing: _, ...meshSettings } = oneProcessSettings;
  const configs = readAll({
    mesh: () => readSettings(env, meshSettings),
    tracing: () => readTracing(env),
    ...unitSettings(env),
    database: () => readDatabase(env),
  });
  const services = await loadUnits();
  const log = createLogger('mesh');
  warnOfUnknownSettings(env, unitNames, log);
  let embedded: EmbeddedDatabase | undefined;
  const sharedQueue = connectionQueue({ size: embeddedTransactions });
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>();

  const { redisUrl, kafka, s3 } = configs.mesh;
  const { brokers } = kafka;
  // The client of a server is loaded only if the client is used, because each client takes memory.
  const redis =
    redisUrl === undefined ? undefined : (await import('@parley/live/redis/redis-engines')).redisEngines(redisUrl, log);
  const { keyValue, eventLog } = redis ?? {
    keyValue: memoryKeyValue({ log }),
    eventLog: memoryEventLog({
      maxBytes: configs.mesh.eventLogMaxBytes,
      highWaterFile: join(folder, 'event-log.mark'),
    }),
  };
  const eventBus =
    (brokers && (await import('@parley/events/kafka-settings')).kafkaBusOf(kafka, log)) ||
    inProcessEventBus({
      deadLetters: fileDeadLetters(join(folder, 'dead-letters.jsonl')),
      groups: groupsOf(services),
      log,
    });
  const storage = s3
    ? {
        store: (await import('@parley/s3/s3-object-store')).s3ObjectStore(s3),
        server: undefined,
        describe: () => 'S3 (S3_ENDPOINT)',
      }
    : localStorage({
        folder: join(folder, 'objects'),
        keys: configs.mesh.secretsKeys,
        port: configs.mesh.storagePort,
        corsOrigins: configs.gateway.corsOrigins,
        log,
      });
  const dependencies: ServiceDependencies = {
    database: (schema) =>
      serviceDatabase(env, schema, configs.mesh.databasePoolSize, embedded && { url: embedded.url, sharedQueue }),
    keyValue,
    eventLog,
    eventBus,
    objectStore: storage.store,
    addresses: createAddresses(env, unitNames),
    callers: createCallers(configs.mesh.meshKey),
    host: '127.0.0.1',
    migrateOnStart: true,
    soleOwner: true,
    development: env.NODE_ENV !== 'production',
  };

  const engines: Part = {
    name: 'engines',
    async start() {
      if (!configs.database.isEmbedded) return;
      embedded = await startEmbeddedDatabase({
        folder: join(folder, 'database'),
        ...(databaseSnapshot && { snapshot: databaseSnapshot }),
      });
      void embedded.exited.then(fail);
    },
    async stop() {
      await Promise.all([eventBus.close(), eventLog.close(), keyValue.close(), storage.store.close()]);
      await embedded?.stop();
    },
  };

  let units: Unit | undefined;
  const mesh = unit(
    'mesh',
    [
      redis,
      engines,
      storage.server,
      brokers && {
        name: 'topics',
        async start() {
          const { makeTopics } = await import('@parley/events/kafka-topics');
          await makeTopics(topics, { ...kafka, brokers, log });
        },
        async stop() {},
      },
      {
        name: 'units',
        // The units are created only now, because their databases need the address of the embedded database.
        async start() {
          const configOf: Record<string, unknown> = configs;
          units = unit(
            'units',
            services.map((service) => service.unit(configOf[service.name] as UnitConfig, dependencies)),
          );
          await units.start();
        },
        stop: async () => units?.stop(),
        ready: async () => units?.ready(),
      },
      publishAddresses(folder, dependencies.addresses),
    ].filter((part) => typeof part === 'object'),
  );
  return {
    ...mesh,
    /** The units' dependencies, including the addresses of all units. */
    dependencies,
    /** Resolves with the reason when the embedded database ends unexpectedly. The mesh cannot run without it. */
    failed,
    /** Returns the URL of the embedded database, while it runs. */
    databaseUrl: () => embedded?.url,
    /** Returns the gateway's URL for clients, known once the gateway has started. */
    publicUrl: () => dependencies.addresses.of('gateway', 'public'),
    /** Returns voice's URL for clients, known once voice has started. */
    voiceUrl: () => dependencies.addresses.of('voice', 'public'),
    /** Returns the variables that are no settings but have names similar to settings, each with the most similar setting. */
    unknownSettings: () => unknownSettings(env, unitNames),
    /** Returns descriptions of the configured models. */
    models: () => createModels(configs.agent.models, log).describe(),
    /** Describes the engine that the mesh uses for each purpose, for the start-up banner. */
    engines: () => ({
      database: configs.database.isEmbedded ? `PGlite in ${join(folder, 'database')}` : 'PostgreSQL (DATABASE_URL)',
      'key-value, event log': redis ? 'Redis (REDIS_URL)' : 'in memory',
      'event bus': brokers ? 'Kafka (KAFKA_BROKERS)' : 'in process, fed by the outboxes',
      'object store': storage.describe(),
    }),
  };
}

/** Reports whether the embedded database is used, i.e. whether any service has no `DATABASE_URL`. */
function readDatabase(env: Environment): { isEmbedded: boolean } {
  const readers = schemas.map(({ name }) => [name, () => readDatabaseUrls(env, name)] as const);
  const isEmbedded = Object.values(readAll(Object.fromEntries(readers))).some(({ url }) => url === undefined);
  if (isEmbedded && env.NODE_ENV === 'production')
    throw new SettingsError(['DATABASE_URL: is missing, and NODE_ENV is production']);
  return { isEmbedded };
}
