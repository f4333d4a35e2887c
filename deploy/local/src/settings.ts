import { agentSettings } from '@parley/agent/config';
import { port } from '@parley/chassis/setting-types';
import { type ListedSetting, listSettings, setting } from '@parley/chassis/settings';
import {
  databaseSettings,
  dataFolderSetting,
  processSettings,
  secretsKeysSetting,
} from '@parley/chassis/shared-settings';
import { settingsOfProcess, type UnitSettings } from '@parley/chassis/unit-settings';
import { evaluationSettings } from '@parley/evaluation/config';
import { gatewaySettings } from '@parley/gateway/config';
import { identitySettings } from '@parley/identity/config';
import { sessionSettings } from '@parley/session/config';
import { commandSettings } from './command-settings.ts';

/** Where clients reach the mesh. */
export const publicPortSetting = gatewaySettings.own.port;

/** What all units in one process read beside the settings of each. */
export const oneProcessSettings = {
  ...processSettings,
  secretsKeys: secretsKeysSetting,
  storagePort: setting(
    'STORAGE_PORT',
    port.default(4200),
    'Where signed URLs of files lead, without `S3_ENDPOINT`; 0 takes any free port.',
  ),
};

/** The declared settings of each unit. */
export const settingsOfUnits: UnitSettings[] = [
  identitySettings,
  agentSettings,
  evaluationSettings,
  sessionSettings,
  gatewaySettings,
];

/** What no unit has for itself: read by every process, by all units in one process, or by commands. */
export function sharedSettings(): ListedSetting[] {
  const { nodeEnv, ...others } = oneProcessSettings;
  const shared = listSettings({
    nodeEnv,
    dataFolder: dataFolderSetting,
    database: databaseSettings('<service>').shared,
    ...others,
  });
  const unitProcess = settingsOfUnits.flatMap((unit) => settingsOfProcess(unit).shared);
  const names = new Set(shared.map(({ name }) => name));
  return [...shared, ...unitProcess.filter(({ name }) => !names.has(name) && names.add(name))];
}

/**
 * All settings, by the unit that reads them: `shared` are those that several read or none alone, `commands` those of scripts. Nothing is started or read for it.
 */
export function allSettings(): Record<string, ListedSetting[]> {
  const ofUnits = settingsOfUnits.map((unit) => [unit.unit, settingsOfProcess(unit).own]);
  return { shared: sharedSettings(), ...Object.fromEntries(ofUnits), commands: listSettings(commandSettings) };
}
