import { type ListedSetting, listSettings, type Settings, setting } from '@parley/kernel/settings';
import {
  databaseSettings,
  eventSettings,
  fileSettings,
  poolSizeSetting,
  unitProcessSettings,
} from '@parley/kernel/shared-settings';
import { z } from 'zod';
import { type DeclaredUnit, usesEvents } from './declaration.ts';

/**
 * Lists all settings that the unit reads in a process of its own, without starting or reading anything.
 * @param subgraphs the units whose subgraphs it queries.
 * @returns `own`: those that only it reads, addresses of other units included; `shared`: those of every process.
 */
export function settingsOfProcess(
  unit: Omit<DeclaredUnit, 'serves' | 'readConfig'>,
  subgraphs: readonly string[] = [],
): { own: ListedSetting[]; shared: ListedSetting[] } {
  const { name, settings, schema, keepsFiles, calls = [] } = unit;
  const urls = databaseSettings(name);
  return {
    own: listSettings({
      settings,
      addresses: addressSettings(calls, subgraphs),
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

function addressSettings(calls: readonly string[], subgraphs: readonly string[]): Settings {
  const names = { RPC: calls, GRAPH: subgraphs };
  const each = Object.entries(names).flatMap(([kind, units]) =>
    units.map((unit) => {
      const name = `${unit.toUpperCase()}_${kind}_URL`;
      const type = kind === 'RPC' ? z.string() : z.url();
      return [name, setting(name, type.meta({ title: kind === 'RPC' ? 'host:port' : 'URL' }), meaningOf(unit, kind))];
    }),
  );
  return Object.fromEntries(each);
}

function meaningOf(unit: string, kind: string): string {
  const what = kind === 'RPC' ? `The gRPC of ${unit}, as \`host:port\`` : `The subgraph of ${unit}`;
  return `${what}. Not needed where both run in one process.`;
}
