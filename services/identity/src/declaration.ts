import { usualRetentionMs } from '@parley/events/topics';
import { declareService } from '@parley/service/declaration';
import { identitySettings, readIdentityConfig } from './config.ts';
import { identitySchema } from './identity-schema.ts';

/** The declaration is separate from the implementation, so that tools and launchers can read it without loading the service. */
export const identityDeclaration = declareService({
  name: 'identity',
  serves: ['rpc', 'graph'],
  settings: identitySettings,
  readConfig: readIdentityConfig,
  callsOut: true,
  schema: identitySchema,
  publishes: [{ name: 'tenant-deleted', types: ['tenant.deleted.v1'], partitions: 3, retentionMs: usualRetentionMs }],
});
