import { connectSurroundings } from '@parley/chassis/connect';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { readGatewayConfig } from './config.ts';
import { gateway } from './service.ts';

const config = readGatewayConfig(process.env);
const around = connectSurroundings(process.env);
await run([telemetry(process.env), around, gateway(config, around)], { log: createLogger('gateway') });
