import { createServer } from 'node:http';
import { join } from 'node:path';
import { listen } from '@parley/kernel/http/listen';
import { connectUnit } from '@parley/unit/connect-unit';
import { readSupergraph } from '../../../../gateway/src/graph/supergraph.ts';
import { serve } from '../processes.ts';

// Hive Gateway with its defaults and compiled operations, as `hive-gateway supergraph --jit` starts it: no credentials, no limits.
const { HIVE_GATEWAY = '' } = process.env;
const load = (file: string) => import(join(HIVE_GATEWAY, 'node_modules', file));
const { createGatewayRuntime } = await load('@graphql-hive/gateway/dist/index.js');
const { useJIT } = await load('@graphql-mesh/plugin-jit/esm/index.js');
const { addresses } = connectUnit(process.env);

const gateway = createGatewayRuntime({
  supergraph: (await readSupergraph()).replaceAll(/http:\/\/(\w+)\.invalid/gu, (_, unit) =>
    addresses.of(unit, 'graph'),
  ),
  logging: false,
  plugins: () => [useJIT()],
});
serve(`http://${await listen(createServer(gateway))}/graphql`);
