import { type Environment, readAll, SettingsError, warnOfUnknownSettings } from '@parley/kernel/config';
import { createLogger } from '@parley/kernel/log';
import { run } from '@parley/kernel/run';
import { telemetry } from '@parley/kernel/telemetry';
import type { Part } from '@parley/kernel/unit';
import { connectUnit } from './connect-unit.ts';
import type { UnitConfig } from './declaration.ts';
import type { DefinedUnit } from './define-unit.ts';
import type { UnitDependencies } from './unit-dependencies.ts';

/** Runs a unit that keeps no data as a process of its own, until a signal ends it: all of its `main.ts`. */
export function runUnit<Config extends UnitConfig>(
  unit: DefinedUnit<string, Config, unknown>,
  env: Environment = process.env,
): Promise<void> {
  return runProcess(unit, connectUnit, env);
}

/**
 * Runs one unit as a process of its own on what `connect` gives it. All that is wrong with the settings of either is told in one
 * message, with exit code 1, before anything is opened.
 */
export async function runProcess<Config extends UnitConfig, Given extends UnitDependencies>(
  { name, readConfig, unit }: DefinedUnit<string, Config, unknown, Given>,
  connect: (env: Environment) => Given & Part,
  env: Environment,
): Promise<void> {
  const read = settingsOf(() => readAll({ config: () => readConfig(env), given: () => connect(env) }));
  if (!read) return;
  const { config, given } = read;
  const log = createLogger(name);
  warnOfUnknownSettings(env, [name], log);
  await run([telemetry(env), given, unit(config, given)], { log, addresses: given.addresses });
}

function settingsOf<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return undefined;
  }
}
