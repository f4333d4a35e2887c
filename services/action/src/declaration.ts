import { declareService } from '@parley/service/declaration';
import { actionSchema } from './action-schema.ts';
import { actionSettings, readActionConfig } from './config.ts';

export const actionDeclaration = declareService({
  name: 'action',
  serves: ['rpc', 'graph'],
  settings: actionSettings,
  readConfig: readActionConfig,
  calls: ['identity'],
  callsOut: true,
  schema: actionSchema,
  consumes: ['tenant.deleted.v1'],
});
