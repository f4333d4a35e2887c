import { readAll } from '@parley/chassis/config';
import { connectSurroundings } from '@parley/chassis/connect';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { readIdentityConfig } from './config.ts';
import { identity } from './service.ts';

const { config, around } = readAll({
  config: () => readIdentityConfig(process.env),
  around: () => connectSurroundings(process.env),
});
await run([telemetry(process.env), around, identity(config, around)], { log: createLogger('identity') });
