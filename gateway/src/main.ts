import { runUnit } from '@parley/chassis/run-unit';
import { readGatewayConfig } from './config.ts';
import { gateway } from './service.ts';

await runUnit({ name: 'gateway', readConfig: readGatewayConfig, unit: gateway });
