import { declareUnit } from '@parley/unit/declaration';
import { gatewaySettings, readGatewayConfig } from './config.ts';

export const gatewayDeclaration = declareUnit({
  name: 'gateway',
  serves: ['public'],
  settings: gatewaySettings,
  readConfig: readGatewayConfig,
  calls: ['identity', 'session'],
});
