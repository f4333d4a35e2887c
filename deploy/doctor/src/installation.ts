import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import type { ListedSetting, Settings, ValuesOf } from '@parley/kernel/settings/settings';
import type { ListedUnit } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';

/** Settings and processes that an installation gives to one unit. */
export interface PlannedUnit {
  /** The maximum number of processes, including the one that an upgrade adds temporarily. */
  processes: number;
  /** The unit's environment. */
  env: Environment;
}

/** An installation that the doctor checks. */
export interface Installation {
  /** The settings of all units together. They determine which engines the installation uses. */
  env: Environment;
  /**
   * Settings and processes of each unit, by name. Default for a unit: `env`, and the number of processes that the unit has in a mesh on one
   * machine.
   */
  planned?: Readonly<Record<string, PlannedUnit | undefined>>;
  /** The units whose settings and engines are checked. */
  units: readonly ListedUnit[];
  /** All units. They include unchecked units, because these may publish events that the checked units consume. */
  allUnits: readonly ListedUnit[];
  /** The clock of this machine, in ms since 1970. */
  now(): number;
  /** The timeout for connecting to an engine and for each of its responses, in ms. */
  patienceMs: number;
}

/** Returns the environment of a unit. */
export function envOf({ env, planned = {} }: Pick<Installation, 'env' | 'planned'>, unit: string): Environment {
  return planned[unit]?.env ?? env;
}

/** Matches the names of the settings that contain the addresses of other units. */
export const unitAddress = /^[A-Z\d_]+_(?:RPC|GRAPH|HTTP)_URL$/u;

/** Returns the settings that units read, with the names of these units. */
export function settingsRead(units: readonly ListedUnit[]): { setting: ListedSetting; readers: string[] }[] {
  const read = units.flatMap((unit) => {
    const { own, shared } = settingsOfUnit(unit);
    return [...own, ...shared].map((setting) => ({ setting, unit: unit.name }));
  });
  return [...Map.groupBy(read, ({ setting }) => setting.name).values()].flatMap(([first, ...others]) =>
    first ? [{ setting: first.setting, readers: [first, ...others].map(({ unit }) => unit) }] : [],
  );
}

/** Reads settings. Returns undefined if one is missing or invalid; `checkSettings` reports such a setting. */
export function usable<S extends Settings>(env: Environment, declared: S): ValuesOf<S> | undefined {
  try {
    return readSettings(env, declared);
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}
