import { readAll } from '@parley/chassis/config';
import { connectSurroundings } from '@parley/chassis/connect';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { readSessionConfig } from './config.ts';
import { session } from './service.ts';

const { config, around } = readAll({
  config: () => readSessionConfig(process.env),
  around: () => connectSurroundings(process.env),
});
await run([telemetry(process.env), around, session(config, around)], { log: createLogger('session') });
