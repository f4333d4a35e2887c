import { declareService } from '@parley/service/declaration';
import { evaluationSettings, readEvaluationConfig } from './config.ts';
import { evaluationSchema } from './evaluation-schema.ts';

/** What evaluation is to those who run it. */
export const evaluationDeclaration = declareService({
  name: 'evaluation',
  serves: ['rpc'],
  settings: evaluationSettings,
  readConfig: readEvaluationConfig,
  calls: ['agent', 'session', 'identity'],
  schema: evaluationSchema,
});
