import { createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import type { Part } from '@parley/kernel/processes/unit';
import { type Environment, readAll, readSettings } from '@parley/kernel/settings/config';
import { unitProcessSettings } from '@parley/kernel/settings/shared-settings';
import { createLogger } from '@parley/kernel/telemetry/log';
import { readTracing } from '@parley/kernel/telemetry/telemetry';
import { readMesh } from '@parley/kernel/tls/mesh';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { redisEngines } from '@parley/live/redis/redis-engines';
import type { UnitDependencies } from './unit-dependencies.ts';

/**
 * Makes the dependencies of a unit in a separate process, as configured by the environment. With `REDIS_URL`, which production requires,
 * all processes share the key-value store and the event log. Without it, both are in memory, so units that share them must run in one
 * process.
 * @throws SettingsError naming every setting that is missing or wrong.
 */
export function connectUnit(env: Environment): UnitDependencies & Part {
  const { tracing: _, mesh: __, ...needed } = unitProcessSettings;
  const { settings, mesh } = readAll({
    settings: () => readSettings(env, needed),
    mesh: () => readMesh(env, createLogger('mesh')),
    tracing: () => readTracing(env),
  });
  const redis = settings.redisUrl === undefined ? undefined : redisEngines(settings.redisUrl, createLogger('redis'));
  const { keyValue, eventLog } = redis ?? {
    keyValue: memoryKeyValue(),
    eventLog: memoryEventLog({ maxBytes: settings.eventLogMaxBytes }),
  };
  return {
    name: 'engines',
    keyValue,
    eventLog,
    addresses: createAddresses(env),
    callers: createCallers(settings.meshKey),
    mesh,
    host: settings.host,
    development: env.NODE_ENV !== 'production',
    async start() {
      await mesh.start();
      await redis?.start();
    },
    async stop() {
      await Promise.all([eventLog.close(), keyValue.close()]);
      await redis?.stop();
      await mesh.stop();
    },
  };
}
