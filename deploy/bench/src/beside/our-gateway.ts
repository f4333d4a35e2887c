import { connectSurroundings } from '@parley/chassis/connect';
import { readGatewayConfig } from '../../../../gateway/src/config.ts';
import { gateway } from '../../../../gateway/src/service.ts';
import { serve } from '../processes.ts';

const around = connectSurroundings(process.env);
await around.start();
// All sockets of a bench come from one address.
const limits = { GATEWAY_PORT: '0', GATEWAY_CONNECTIONS_PER_CLIENT: '20000', GATEWAY_SOCKETS_PER_CLIENT: '20000' };
const self = gateway(readGatewayConfig({ ...process.env, ...limits }), around);
await self.start();
serve(`${around.addresses.of('gateway', 'public')}/graphql`, () => self.stop());
