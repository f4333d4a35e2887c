import { runUnit } from '@parley/chassis/run-unit';
import { readAgentConfig } from './config.ts';
import { agent } from './service.ts';

await runUnit({ name: 'agent', readConfig: readAgentConfig, unit: agent, schema: 'agent' });
