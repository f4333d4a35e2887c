import { usualRetentionMs } from '@parley/events/topics';
import { declareService } from '@parley/service/declaration';
import { readSessionConfig, sessionSettings } from './config.ts';
import { sessionSchema } from './session-schema.ts';

export const sessionDeclaration = declareService({
  name: 'session',
  serves: ['rpc', 'graph'],
  settings: sessionSettings,
  readConfig: readSessionConfig,
  calls: ['agent', 'evaluation', 'export', 'identity'],
  callsByHttp: ['voice'],
  callsOut: true,
  schema: sessionSchema,
  hasSubscriptions: true,
  consumes: ['evaluation.completed.v1', 'tenant.deleted.v1'],
  publishes: [{ name: 'session-ended', types: ['session.ended.v1'], partitions: 12, retentionMs: usualRetentionMs }],
});
