import type { Endpoint } from '@parley/kernel/addresses';
import type { Environment } from '@parley/kernel/config';
import { listSettings, type Settings } from '@parley/kernel/settings';
import { portName } from '@parley/kernel/shared-settings';

/** The values that `defineUnit` and `service` need of a unit's settings. */
export interface UnitConfig {
  /** Ports to listen on; 0 takes any free one. */
  opsPort: number;
  rpcPort?: number;
  graphPort?: number;
  /** The limit of one answer of its subgraph, in bytes. */
  maxAnswerBytes?: number;
}

/**
 * What is known of a unit without loading its code, so that commands which need no more start quickly.
 */
export interface UnitDeclaration<Name extends string = string, Config extends UnitConfig = UnitConfig> {
  /** Also the prefix of its settings (`<NAME>_RPC_PORT`). */
  name: Name;
  /** The endpoints that it serves beside the operators' port, which every unit has. */
  serves: readonly Exclude<Endpoint, 'ops'>[];
  settings: Settings;
  /** Reads them. @throws SettingsError naming every setting that is missing or wrong. */
  readConfig(env: Environment): Config;
  calls?: readonly string[];
  /** Whether it calls addresses outside the installation beside its engines, such as models or URLs of tenants. */
  callsOut?: boolean;
}

/** Checks a declaration. @throws Error where it serves an endpoint and has no setting for its port. */
export function declareUnit<const Name extends string, Config extends UnitConfig>(
  declaration: UnitDeclaration<Name, Config>,
): UnitDeclaration<Name, Config> {
  const { name, serves, settings } = declaration;
  const names = listSettings(settings).map((each) => each.name);
  const unset = serves
    .filter((endpoint) => endpoint !== 'public')
    .find((endpoint) => !names.includes(portName(name, endpoint)));
  if (unset) throw new Error(`${name} serves ${unset} and has no setting ${portName(name, unset)} (portSettings)`);
  return declaration;
}
