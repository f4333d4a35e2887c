import { type Environment, readSettings, SettingsError } from '@parley/kernel/settings/config';
import type { ListedSetting, Settings, ValuesOf } from '@parley/kernel/settings/settings';
import type { ListedUnit } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';

/** Settings and processes that an installation gives to one unit. */
export interface PlannedUnit {
  /** The maximum number of its processes, with the one that an upgrade adds temporarily. */
  processes: number;
  /** Its environment. */
  env: Environment;
}

/** The checked installation. */
export interface Installation {
  /** The settings of all units together, by which engines are found. */
  env: Environment;
  /** Plans by name of the unit. Default: `env`, and processes as in the mesh of one machine. */
  planned?: Readonly<Record<string, PlannedUnit | undefined>>;
  /** The units whose settings and engines are checked. */
  units: readonly ListedUnit[];
  /** All units, checked or not: the others may publish events that these consume. */
  allUnits: readonly ListedUnit[];
  /** The clock of this machine, in ms since 1970. */
  now(): number;
  /** How long connecting to an engine, or one answer of it, may take, in ms. */
  patienceMs: number;
}

/** The environment of a unit. */
export function envOf({ env, planned = {} }: Pick<Installation, 'env' | 'planned'>, unit: string): Environment {
  return planned[unit]?.env ?? env;
}

/** The settings by which units find one another. */
export const unitAddress = /^[A-Z\d_]+_(?:RPC|GRAPH|HTTP)_URL$/u;

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

/** The values; undefined if one is missing or invalid, which `checkSettings` reports. */
export function usable<S extends Settings>(env: Environment, declared: S): ValuesOf<S> | undefined {
  try {
    return readSettings(env, declared);
  } catch (error) {
    if (error instanceof SettingsError) return undefined;
    throw error;
  }
}
