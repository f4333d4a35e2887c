import { runUnit } from '@parley/chassis/run-unit';
import { identity } from './service.ts';

await runUnit(identity);
