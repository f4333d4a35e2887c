import { runUnit } from '@parley/chassis/run-unit';
import { gateway } from './service.ts';

await runUnit(gateway);
