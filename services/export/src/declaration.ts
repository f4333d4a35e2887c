import { declareService } from '@parley/service/declaration';
import { exportSettings } from './config.ts';
import { exportSchema } from './export-schema.ts';

/** Apart from the code, for tools and for the processes that start it. */
export const exportDeclaration = declareService({
  name: 'export',
  serves: ['rpc'],
  settings: exportSettings,
  calls: ['session', 'agent', 'evaluation'],
  schema: exportSchema,
  consumes: ['tenant.deleted.v1'],
  keepsFiles: true,
});
