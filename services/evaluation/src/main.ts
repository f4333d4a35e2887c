import { runUnit } from '@parley/chassis/run-unit';
import { readEvaluationConfig } from './config.ts';
import { evaluation } from './service.ts';

await runUnit({ name: 'evaluation', readConfig: readEvaluationConfig, unit: evaluation, schema: 'evaluation' });
