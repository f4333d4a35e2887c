import { type Environment, readAll, readSettings } from '@parley/kernel/settings/config';
import { type ListedSetting, listSettings } from '@parley/kernel/settings/settings';
import {
  databaseSettings,
  eventSettings,
  fileSettings,
  poolSizeSetting,
  unitProcessSettings,
} from '@parley/kernel/settings/shared-settings';
import { readTracing } from '@parley/kernel/telemetry/telemetry';
import { readMesh } from '@parley/kernel/tls/mesh';
import { requireDatabaseUrls } from '@parley/postgres/database/database-urls';
import { addressSettings, readAddresses, type UsedEndpoint } from '@parley/unit/address-settings';
import { type DeclaredUnit, usesEvents } from './declaration.ts';

function endpointsOf(
  { calls = [], callsByHttp = [] }: Pick<DeclaredUnit, 'calls' | 'callsByHttp'>,
  used: readonly UsedEndpoint[],
): UsedEndpoint[] {
  return [
    ...calls.map((unit) => ({ unit, endpoint: 'rpc' as const })),
    ...callsByHttp.map((unit) => ({ unit, endpoint: 'public' as const })),
    ...used,
  ];
}

/**
 * Returns the settings of a unit in its own process.
 * @param used the endpoints of other units that it needs in addition to its `calls`
 */
function declaredFor(unit: Omit<DeclaredUnit, 'serves' | 'readConfig'>, used: readonly UsedEndpoint[]) {
  const { name, settings, schema, keepsFiles } = unit;
  const urls = databaseSettings(name);
  return {
    own: {
      settings,
      addresses: addressSettings(endpointsOf(unit, used)),
      ...(schema && { database: urls.own }),
    },
    shared: {
      ...unitProcessSettings,
      ...(schema && { database: urls.shared, databasePoolSize: poolSizeSetting }),
      ...(usesEvents(unit) && eventSettings),
      ...(keepsFiles && fileSettings),
    },
  };
}

/**
 * Lists all settings that the unit reads in its own process. Starts nothing, and reads none of their values.
 * @param used the endpoints of other units that it needs in addition to the gRPC of its `calls`.
 * @returns `own`: settings that only this unit reads, including addresses of other units; `shared`: settings of every process.
 */
export function settingsOfProcess(
  unit: Omit<DeclaredUnit, 'serves' | 'readConfig'>,
  used: readonly UsedEndpoint[] = [],
): { own: ListedSetting[]; shared: ListedSetting[] } {
  const { own, shared } = declaredFor(unit, used);
  return { own: listSettings(own), shared: listSettings(shared) };
}

/**
 * Reads all settings as the unit does when it starts in its own process, but starts nothing.
 * @throws SettingsError with the name of every missing or invalid setting
 */
export function checkSettingsOfProcess(unit: DeclaredUnit, env: Environment, used: readonly UsedEndpoint[] = []): void {
  const { own, shared } = declaredFor(unit, used);
  const { settings: _, addresses: __, ...connections } = own;
  const { tracing: ___, mesh: ____, ...others } = shared;
  readAll({
    config: () => unit.readConfig(env),
    addresses: () => readAddresses(env, endpointsOf(unit, used)),
    connections: () => readSettings(env, connections),
    others: () => readSettings(env, others),
    mesh: () => readMesh(env),
    tracing: () => readTracing(env),
    urls: () => unit.schema && requireDatabaseUrls(env, unit.schema.name),
  });
}
