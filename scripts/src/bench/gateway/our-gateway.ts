import { connectSurroundings } from '@parley/chassis/connect';
import { readGatewayConfig } from '../../../../gateway/src/config.ts';
import { gateway } from '../../../../gateway/src/service.ts';
import { serve } from './child.ts';

/** Where a gateway or a bare server is reached. */
export interface Reached {
  url: string;
}

const around = connectSurroundings(process.env);
await around.start();
const self = gateway(readGatewayConfig({ ...process.env, GATEWAY_PORT: '0' }), around);
await self.start();
serve({ hello: { url: `${around.addresses.of('gateway', 'public')}/graphql` }, stop: () => self.stop() });
