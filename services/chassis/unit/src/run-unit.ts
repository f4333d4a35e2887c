import { run } from '@parley/kernel/processes/run';
import type { Part } from '@parley/kernel/processes/unit';
import { type Environment, readAll, SettingsError, warnOfUnknownSettings } from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import { telemetry } from '@parley/kernel/telemetry/telemetry';
import { checkCertificates } from '@parley/kernel/tls/check-certificates';
import { readAddresses } from './address-settings.ts';
import { connectUnit } from './connect-unit.ts';
import type { UnitConfig } from './declaration.ts';
import type { DefinedUnit } from './define-unit.ts';
import type { UnitDependencies } from './unit-dependencies.ts';

/** Runs a unit that stores no data, in this process, until a signal ends it. A unit's `main.ts` only calls this function. */
export function runUnit<Config extends UnitConfig>(
  unit: DefinedUnit<string, Config, unknown>,
  env: Environment = process.env,
): Promise<void> {
  return runProcess(unit, connectUnit, env);
}

/**
 * Runs one unit in this process with the dependencies that `connect` makes. If settings are missing or wrong, including addresses of other
 * units, the function prints all problems in one message. Then it exits with code 1 before it opens anything.
 */
export async function runProcess<Config extends UnitConfig, Dependencies extends UnitDependencies>(
  { name, readConfig, uses, unit }: DefinedUnit<string, Config, unknown, Dependencies>,
  connect: (env: Environment) => Dependencies & Part,
  env: Environment,
): Promise<void> {
  const used = await uses();
  const read = readOrReport(() =>
    readAll({
      config: () => readConfig(env),
      dependencies: () => connect(env),
      addresses: () => readAddresses(env, used),
      log: () => createLogger(name),
      certificates: () => checkCertificates(env),
    }),
  );
  if (!read) return;
  const { config, dependencies, log } = read;
  warnOfUnknownSettings(env, [name], log);
  await run([telemetry(env), dependencies, unit(config, dependencies)], { log, addresses: dependencies.addresses });
}

function readOrReport<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return undefined;
  }
}
