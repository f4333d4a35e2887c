import { runUnit } from '@parley/chassis/run-unit';
import { readSessionConfig } from './config.ts';
import { session } from './service.ts';

await runUnit({ name: 'session', readConfig: readSessionConfig, unit: session, schema: 'session' });
