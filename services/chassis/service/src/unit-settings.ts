import { type ListedSetting, listSettings } from '@parley/kernel/settings';
import {
  databaseSettings,
  eventSettings,
  fileSettings,
  poolSizeSetting,
  unitProcessSettings,
} from '@parley/kernel/shared-settings';
import { addressSettings, type UsedEndpoint } from '@parley/unit/address-settings';
import { type DeclaredUnit, usesEvents } from './declaration.ts';

/**
 * Lists all settings that the unit reads in a process of its own, without starting or reading anything.
 * @param used the endpoints of other units that it needs beside the gRPC of its `calls`.
 * @returns `own`: those that only it reads, addresses of other units included; `shared`: those of every process.
 */
export function settingsOfProcess(
  unit: Omit<DeclaredUnit, 'serves' | 'readConfig'>,
  used: readonly UsedEndpoint[] = [],
): { own: ListedSetting[]; shared: ListedSetting[] } {
  const { name, settings, schema, keepsFiles, calls = [] } = unit;
  const urls = databaseSettings(name);
  return {
    own: listSettings({
      settings,
      addresses: addressSettings([...calls.map((unit) => ({ unit, endpoint: 'rpc' as const })), ...used]),
      ...(schema && { database: urls.own }),
    }),
    shared: listSettings({
      ...unitProcessSettings,
      ...(schema && { database: urls.shared, databasePoolSize: poolSizeSetting }),
      ...(usesEvents(unit) && eventSettings),
      ...(keepsFiles && fileSettings),
    }),
  };
}
