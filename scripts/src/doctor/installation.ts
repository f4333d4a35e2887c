import { type Environment, readSettings, SettingsError } from '@parley/kernel/config';
import type { ListedSetting, Settings, ValuesOf } from '@parley/kernel/settings';
import { settingsOfUnit } from '@parley/local/settings';
import type { ListedUnit } from '@parley/units';

/** What is checked. */
export interface Installation {
  env: Environment;
  /** The units whose settings and engines are checked. */
  units: readonly ListedUnit[];
  /** These and all others, which may publish what the units consume. */
  allUnits: readonly ListedUnit[];
  /** The clock of this machine, in ms since 1970. */
  now(): number;
  /** How long connecting to an engine, or one answer of it, may take, in ms. */
  patienceMs: number;
}

/** The settings by which units find one another. */
export const unitAddress = /^[A-Z\d_]+_(?:RPC|GRAPH)_URL$/u;

/** Settings that the units read, each with the units that do. */
export function settingsRead(units: readonly ListedUnit[]): { setting: ListedSetting; readers: string[] }[] {
  const read = units.flatMap((unit) => {
    const { own, shared } = settingsOfUnit(unit);
    return [...own, ...shared].map((setting) => ({ setting, unit: unit.name }));
  });
  return [...Map.groupBy(read, ({ setting }) => setting.name).values()].flatMap(([first, ...others]) =>
    first ? [{ setting: first.setting, readers: [first, ...others].map(({ unit }) => unit) }] : [],
  );
}

/** The values, or undefined where one is missing or wrong, which `checkSettings` reports. */
export function usable<S extends Settings>(env: Environment, declared: S): ValuesOf<S> | undefined {
  try {
    return readSettings(env, declared);
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}
