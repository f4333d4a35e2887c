import { connectUnit } from '@parley/unit/connect-unit';
import { gateway } from '../../../../gateway/src/service.ts';
import { serve } from '../processes.ts';

const given = connectUnit(process.env);
await given.start();
const self = gateway.unit(gateway.readConfig(process.env), given);
await self.start();
serve(`${given.addresses.of('gateway', 'public')}/graphql`, () => self.stop());
