import { connectSurroundings } from '@parley/chassis/connect';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { readEvaluationConfig } from './config.ts';
import { evaluation } from './service.ts';

const config = readEvaluationConfig(process.env);
const around = connectSurroundings(process.env);
await run([telemetry(process.env), around, evaluation(config, around)], { log: createLogger('evaluation') });
