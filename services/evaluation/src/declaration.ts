import { declareUnit } from '@parley/chassis/declaration';
import { evaluationSettings, readEvaluationConfig } from './config.ts';
import { evaluationSchema } from './evaluation-schema.ts';

/** What evaluation is to those who run it. */
export const evaluationDeclaration = declareUnit({
  name: 'evaluation',
  serves: ['rpc'],
  settings: evaluationSettings,
  readConfig: readEvaluationConfig,
  calls: ['agent', 'session', 'identity'],
  schema: evaluationSchema,
});
