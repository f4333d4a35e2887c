import { runUnit } from '@parley/unit/run-unit';
import { gateway } from './service.ts';

await runUnit(gateway);
