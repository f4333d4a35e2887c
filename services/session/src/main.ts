import { runUnit } from '@parley/chassis/run-unit';
import { session } from './service.ts';

await runUnit(session);
