import { declareUnit } from '@parley/chassis/declaration';
import { gatewaySettings, readGatewayConfig } from './config.ts';

/** What the gateway is to those who run it. */
export const gatewayDeclaration = declareUnit({
  name: 'gateway',
  serves: ['public'],
  settings: gatewaySettings,
  readConfig: readGatewayConfig,
  calls: ['identity', 'session'],
});
