import { connectSurroundings } from '@parley/chassis/connect';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { readAgentConfig } from './config.ts';
import { agent } from './service.ts';

const config = readAgentConfig(process.env);
const around = connectSurroundings(process.env);
await run([telemetry(process.env), around, agent(config, around)], { log: createLogger('agent') });
