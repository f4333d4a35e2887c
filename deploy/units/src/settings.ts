import { gatewaySettings } from '@parley/gateway/config';
import type { Environment } from '@parley/kernel/settings/config';
import { port } from '@parley/kernel/settings/setting-types';
import { type ListedSetting, listSettings, setting } from '@parley/kernel/settings/settings';
import {
  databaseSettings,
  dataFolderSetting,
  processSettings,
  secretsKeysSetting,
} from '@parley/kernel/settings/shared-settings';
import { checkSettingsOfProcess, settingsOfProcess } from '@parley/service/unit-settings';
import type { UsedEndpoint } from '@parley/unit/address-settings';
import { voiceSettings } from '@parley/voice/config';
import { commandSettings } from './command-settings.ts';
import { type ListedUnit, units } from './units.ts';

/** The setting with the port at which clients reach the mesh. */
export const publicPortSetting = gatewaySettings.port;

/** The setting with the port at which clients reach voice. */
export const voicePortSetting = voiceSettings.port;

/** The settings of a mesh in one process, in addition to those of its units. */
export const oneProcessSettings = {
  ...processSettings,
  secretsKeys: secretsKeysSetting,
  storagePort: setting(
    'STORAGE_PORT',
    port.default(4200),
    'Port of the server for signed URLs of files, used if `S3_ENDPOINT` is not set. 0 takes any free port.',
  ),
};

/** The endpoints of other units that gateways need. */
const subgraphs = units.flatMap(({ name: unit, serves, hasSubscriptions }): UsedEndpoint[] => [
  ...(serves.some((endpoint) => endpoint === 'graph') ? [{ unit, endpoint: 'graph' as const }] : []),
  ...(hasSubscriptions ? [{ unit, endpoint: 'rpc' as const }] : []),
]);

/** Returns the settings of a unit that runs as a separate process. Starts nothing and reads nothing. */
export function settingsOfUnit(unit: Omit<ListedUnit, 'readConfig' | 'load'>) {
  return settingsOfProcess(unit, usedBy(unit));
}

/** Reads the settings as the unit does, without starting anything. @throws SettingsError that names every missing or wrong setting */
export function checkSettingsOfUnit(unit: ListedUnit, env: Environment): void {
  checkSettingsOfProcess(unit, env, usedBy(unit));
}

function usedBy({ name }: Pick<ListedUnit, 'name'>): UsedEndpoint[] {
  return name === 'gateway' ? subgraphs : [];
}

/** Returns the settings that are shared: by all processes, by all units of a mesh in one process, or by units and commands. */
export function sharedSettings(): ListedSetting[] {
  const { nodeEnv, ...others } = oneProcessSettings;
  const shared = listSettings({
    nodeEnv,
    dataFolder: dataFolderSetting,
    database: databaseSettings('<service>').shared,
    ...others,
  });
  const unitProcess = units.flatMap((unit) => settingsOfUnit(unit).shared);
  const names = new Set(shared.map(({ name }) => name));
  return [...shared, ...unitProcess.filter(({ name }) => !names.has(name) && names.add(name))];
}

/**
 * Returns all settings, by the unit that reads them. `shared`: settings of more than one unit. `commands`: settings of scripts. Starts
 * nothing and reads nothing.
 */
export function allSettings(): Record<string, ListedSetting[]> {
  const ofUnits = units.map((unit) => [unit.name, settingsOfUnit(unit).own]);
  return { shared: sharedSettings(), ...Object.fromEntries(ofUnits), commands: listSettings(commandSettings) };
}
