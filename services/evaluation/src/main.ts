import { runUnit } from '@parley/chassis/run-unit';
import { evaluation } from './service.ts';

await runUnit(evaluation);
