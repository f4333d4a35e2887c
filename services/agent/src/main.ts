import { runUnit } from '@parley/chassis/run-unit';
import { agent } from './service.ts';

await runUnit(agent);
