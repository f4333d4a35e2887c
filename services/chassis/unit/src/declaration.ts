import type { Endpoint } from '@parley/kernel/processes/addresses';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { listSettings, type Settings, type ValuesOf } from '@parley/kernel/settings/settings';
import { portName, portSettings } from '@parley/kernel/settings/shared-settings';
import type { MeshService } from '@parley/protos/mesh-services';

/** The values that `defineUnit` and `service` need from a unit's settings. */
export interface UnitConfig {
  /** The operators' port. This port and the others may be 0, which takes any free one. */
  opsPort: number;
  rpcPort?: number;
  graphPort?: number;
  /** The maximum size of one answer of the unit's subgraph, in bytes. */
  maxAnswerBytes?: number;
}

/**
 * The facts of a unit that are available without loading its code, so that commands start quickly. They determine the type of the code:
 * `defineUnit` and `service` require exactly the declared members.
 */
export interface UnitDeclaration<Name extends string = string, Config extends UnitConfig = UnitConfig> {
  /** The unit's name, also the prefix of its settings (`<NAME>_RPC_PORT`). */
  name: Name;
  /** The endpoints that the unit serves in addition to the operators' port, which every unit has. */
  serves: readonly Exclude<Endpoint, 'ops'>[];
  settings: Settings;
  /**
   * Reads the unit's settings.
   * @throws SettingsError naming every setting that is missing or wrong.
   */
  readConfig(env: Environment): Config;
  /** The units that this unit calls by gRPC. */
  calls?: readonly MeshService[];
  /** The units that this unit calls by HTTP, at their public endpoint. */
  callsByHttp?: readonly string[];
  /**
   * Whether the unit calls addresses outside the installation, such as models or URLs of tenants. Engines, such as the key-value store, do
   * not count.
   */
  callsOut?: boolean;
}

/** The configuration that a declared unit reads. */
export type ConfigOf<Declaration extends UnitDeclaration> = ReturnType<Declaration['readConfig']>;

/** A declaration before defaults are added. */
export type WithoutDefaults<Declaration extends UnitDeclaration> = Omit<Declaration, 'settings' | 'readConfig'> &
  Partial<Pick<Declaration, 'settings' | 'readConfig'>>;

/**
 * A declaration with its defaults. Default `settings`: the settings of its ports. Default `readConfig`: reads the settings and returns them
 * unchanged.
 */
export type Declared<Given extends WithoutDefaults<UnitDeclaration>> = Given & {
  settings: SettingsOf<Given>;
  readConfig(
    env: Environment,
  ): Given extends { readConfig(env: Environment): infer Config } ? Config : ValuesOf<SettingsOf<Given>>;
};

type SettingsOf<Given extends WithoutDefaults<UnitDeclaration>> = Given extends { settings: infer Own extends Settings }
  ? Own
  : ReturnType<typeof portSettings<Exclude<Given['serves'][number], 'public'> | 'ops'>>;

/** Refuses keys that `Declaration` does not have, such as a misspelt one. */
export type OnlyKeysOf<Declaration, Given> = { [Key in Exclude<keyof Given, keyof Declaration>]: never };

/**
 * Checks a declaration and adds its defaults.
 * @throws Error if the unit serves an endpoint and has no setting for its port.
 */
export function declareUnit<const Given extends WithoutDefaults<UnitDeclaration>>(
  given: Given & OnlyKeysOf<UnitDeclaration, Given>,
): Declared<Given> {
  return withDefaults<Given>(given);
}

/** Adds defaults as `declareUnit` does, for declarations with additional keys. */
export function withDefaults<Given extends WithoutDefaults<UnitDeclaration>>(given: Given): Declared<Given> {
  const { name } = given;
  const serves = given.serves.filter((endpoint) => endpoint !== 'public');
  const settings = given.settings ?? portSettings(name, [...serves, 'ops']);
  const names = listSettings(settings).map((each) => each.name);
  const unset = serves.find((endpoint) => !names.includes(portName(name, endpoint)));
  if (unset) throw new Error(`${name} serves ${unset} and has no setting ${portName(name, unset)} (portSettings)`);
  const readConfig = given.readConfig ?? ((env: Environment) => readSettings(env, settings));
  return { ...given, settings, readConfig } as Declared<Given>;
}
