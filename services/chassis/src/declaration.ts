import type { Environment } from './config.ts';
import type { SchemaDeclaration } from './database/types.ts';
import type { TopicDeclaration } from './events/topics.ts';
import { listSettings, type Settings } from './settings.ts';
import { portName } from './shared-settings.ts';
import type { Door } from './surroundings.ts';

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
 * What a unit is to those who run it: enough to start, migrate and reach it. It loads none of the unit's code, so that commands
 * which only need this start quickly.
 */
export interface UnitDeclaration<Name extends string = string, Config extends UnitConfig = UnitConfig> {
  /** Also the name of its schema, the stem of its settings (`<NAME>_RPC_PORT`), and its group on the event bus. */
  name: Name;
  /** How others reach it. Every unit has a port for operators beside these. */
  serves: readonly Exclude<Door, 'ops'>[];
  /** What it alone reads from the environment. */
  settings: Settings;
  /** Reads that. @throws SettingsError naming all that is missing or wrong. */
  readConfig(env: Environment): Config;
  /** The units that it calls by gRPC. */
  calls?: readonly string[];
  /** Its tables and migrations; left out where it keeps nothing. */
  schema?: SchemaDeclaration;
  /** The topics of its events; what it appends to the outbox is refused for any other. */
  publishes?: readonly TopicDeclaration[];
}

/** @throws Error where the declaration contradicts itself. */
export function declareUnit<const Name extends string, Config extends UnitConfig>(
  declaration: UnitDeclaration<Name, Config>,
): UnitDeclaration<Name, Config> {
  const { name, schema, serves, settings, publishes = [] } = declaration;
  const names = listSettings(settings).map((each) => each.name);
  if (schema && schema.name !== name) throw new Error(`${name} declares the schema ${schema.name}; name it ${name}`);
  if (publishes.length > 0 && !schema)
    throw new Error(`${name} publishes events and declares no schema for the outbox`);
  const unset = serves.filter((door) => door !== 'public').find((door) => !names.includes(portName(name, door)));
  if (unset) throw new Error(`${name} serves ${unset} and has no setting ${portName(name, unset)} (portSettings)`);
  return declaration;
}
