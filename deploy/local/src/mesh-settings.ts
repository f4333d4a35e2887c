import { createModels } from '@parley/agent/models';
import { type Environment, readAll, unknownSettings } from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import { unitNames, units } from '@parley/units';

export type { ModelDescription } from '@parley/agent/models';

/** The functions that read the settings of each unit, for `readAll`. */
type Readers = { [Unit in (typeof units)[number] as Unit['name']]: () => ReturnType<Unit['readConfig']> };

export function unitSettings(env: Environment): Readers {
  return Object.fromEntries(units.map(({ name, readConfig }) => [name, () => readConfig(env)])) as Readers;
}

/** Describes the configured source of embeddings. */
export function embeddingsOf(env: Environment): string {
  const { endpoint } = unitSettings(env).knowledge().embeddings;
  return endpoint ? `${endpoint.model} of ${new URL(endpoint.url).host}` : 'built in (offline-embedding-1)';
}

/**
 * Reads the settings of all units, for commands that start each unit as a separate process. Reports all problems at once, before any
 * process starts.
 * @returns the configured models, and the variables that are no settings but have names similar to settings, each with the most similar
 * setting
 * @throws SettingsError that names everything missing or wrong
 */
export function readMeshSettings(env: Environment) {
  const { agent } = readAll(unitSettings(env));
  return {
    models: createModels(agent.models, createLogger('mesh')).describe(),
    unknown: unknownSettings(env, unitNames),
  };
}
