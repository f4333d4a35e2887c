import { type Environment, readAll, SettingsError, warnOfUnknownSettings } from './config.ts';
import { connectSurroundings } from './connect.ts';
import type { UnitConfig } from './declaration.ts';
import { createLogger } from './log.ts';
import { run } from './run.ts';
import type { Service } from './service.ts';
import { telemetry } from './telemetry.ts';

/**
 * Runs one unit as a process of its own, until a signal ends it: all of its `main.ts`. What is wrong with its settings and its
 * surroundings is told in one message, with exit code 1, before anything is opened.
 */
export async function runUnit<Config extends UnitConfig>(
  { name, readConfig, unit, schema }: Service<string, Config, unknown>,
  env: Environment = process.env,
): Promise<void> {
  const read = settingsOf(() =>
    readAll({ config: () => readConfig(env), around: () => connectSurroundings(env, schema?.name) }),
  );
  if (!read) return;
  const { config, around } = read;
  const log = createLogger(name);
  warnOfUnknownSettings(env, [name], log);
  await run([telemetry(env), around, unit(config, around)], { log, addresses: around.addresses });
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
