import { usualRetentionMs } from '@parley/events/topics';
import { declareService } from '@parley/service/declaration';
import { identitySettings, readIdentityConfig } from './config.ts';
import { identitySchema } from './identity-schema.ts';

/** What identity is to those who run it. */
export const identityDeclaration = declareService({
  name: 'identity',
  serves: ['rpc', 'graph'],
  settings: identitySettings,
  readConfig: readIdentityConfig,
  schema: identitySchema,
  publishes: [
    // `tenant.deleted.v1`, keyed by the tenant.
    { name: 'tenant-deleted', partitions: 3, retentionMs: usualRetentionMs },
  ],
});
