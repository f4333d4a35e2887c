import { usualRetentionMs } from '@parley/events/topics';
import { declareService } from '@parley/service/declaration';
import { sessionSettings } from './config.ts';
import { sessionSchema } from './session-schema.ts';

export const sessionDeclaration = declareService({
  name: 'session',
  serves: ['rpc', 'graph'],
  settings: sessionSettings,
  calls: ['agent', 'evaluation', 'export', 'identity'],
  schema: sessionSchema,
  hasSubscriptions: true,
  consumes: ['tenant.deleted.v1'],
  publishes: [{ name: 'session-ended', types: ['session.ended.v1'], partitions: 12, retentionMs: usualRetentionMs }],
});
