import { declareService } from '@parley/service/declaration';
import { exportSettings } from './config.ts';
import { exportSchema } from './export-schema.ts';

/** The declaration is separate from the implementation, so that tools and launchers can read it without loading the service. */
export const exportDeclaration = declareService({
  name: 'export',
  serves: ['rpc'],
  settings: exportSettings,
  calls: ['session', 'agent', 'evaluation'],
  schema: exportSchema,
  consumes: ['tenant.deleted.v1'],
  keepsFiles: true,
});
