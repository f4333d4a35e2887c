import { usualRetentionMs } from '@parley/events/topics';
import { readSettings } from '@parley/kernel/config';
import { declareService } from '@parley/service/declaration';
import { sessionSettings } from './config.ts';
import { sessionSchema } from './session-schema.ts';

/** What is needed to run the unit: settings, schema, dependencies and topics. */
export const sessionDeclaration = declareService({
  name: 'session',
  serves: ['rpc', 'graph'],
  settings: sessionSettings,
  readConfig: (env) => readSettings(env, sessionSettings),
  calls: ['agent', 'evaluation'],
  schema: sessionSchema,
  consumes: ['tenant.deleted.v1'],
  publishes: [
    // Keyed by the session.
    { name: 'session-ended', types: ['session.ended.v1'], partitions: 12, retentionMs: usualRetentionMs },
  ],
});
