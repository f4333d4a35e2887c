import { usualRetentionMs } from '@parley/events/topics';
import { declareService } from '@parley/service/declaration';
import { evaluationSettings } from './config.ts';
import { evaluationSchema } from './evaluation-schema.ts';

/** The declaration is separate from the implementation, so that tools and launchers can read it without loading the service. */
export const evaluationDeclaration = declareService({
  name: 'evaluation',
  serves: ['rpc'],
  settings: evaluationSettings,
  calls: ['agent', 'session', 'identity'],
  schema: evaluationSchema,
  consumes: ['session.ended.v1'],
  publishes: [
    { name: 'evaluation-completed', types: ['evaluation.completed.v1'], partitions: 12, retentionMs: usualRetentionMs },
  ],
});
