import { declareUnit } from '@parley/chassis/declaration';
import { readEvaluationConfig } from './config.ts';
import { evaluationSchema } from './evaluation-schema.ts';

/** What evaluation is to those who run it. */
export const evaluationDeclaration = declareUnit({
  name: 'evaluation',
  serves: ['rpc'],
  readConfig: readEvaluationConfig,
  schema: evaluationSchema,
});
