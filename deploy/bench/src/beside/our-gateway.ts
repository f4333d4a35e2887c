import { connectSurroundings } from '@parley/chassis/connect';
import { gateway } from '../../../../gateway/src/service.ts';
import { serve } from '../processes.ts';

const around = connectSurroundings(process.env);
await around.start();
const self = gateway.unit(gateway.readConfig(process.env), around);
await self.start();
serve(`${around.addresses.of('gateway', 'public')}/graphql`, () => self.stop());
