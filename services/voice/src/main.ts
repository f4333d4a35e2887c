import { runUnit } from '@parley/unit/run-unit';
import { voice } from './service.ts';

await runUnit(voice);
