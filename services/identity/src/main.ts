import { runUnit } from '@parley/chassis/run-unit';
import { readIdentityConfig } from './config.ts';
import { identity } from './service.ts';

await runUnit({ name: 'identity', readConfig: readIdentityConfig, unit: identity, schema: 'identity' });
