import type { Endpoint } from '@parley/kernel/addresses';
import type { Environment } from '@parley/kernel/config';
import { listSettings, type Settings } from '@parley/kernel/settings';
import { portName } from '@parley/kernel/shared-settings';

/** What of a unit's settings the builder reads. */
export interface UnitConfig {
  /** Ports to listen on; 0 takes any free one. */
  opsPort: number;
  rpcPort?: number;
  graphPort?: number;
  /** Bytes of one answer of its subgraph at most. */
  maxAnswerBytes?: number;
}

/**
 * What a unit is to those who run it: enough to start and reach it. It loads none of the unit's code, so that commands which only
 * need this start quickly.
 */
export interface UnitDeclaration<Name extends string = string, Config extends UnitConfig = UnitConfig> {
  /** Also the stem of its settings (`<NAME>_RPC_PORT`). */
  name: Name;
  /** How others reach it. Every unit has a port for operators beside these. */
  serves: readonly Exclude<Endpoint, 'ops'>[];
  /** What it alone reads from the environment. */
  settings: Settings;
  /** Reads that. @throws SettingsError naming all that is missing or wrong. */
  readConfig(env: Environment): Config;
  /** The units that it calls by gRPC. */
  calls?: readonly string[];
}

/** @throws Error where the declaration contradicts itself. */
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
