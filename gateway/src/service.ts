import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { opsServer } from '@parley/chassis/ops';
import { rpcClient } from '@parley/chassis/rpc/client';
import type { Surroundings } from '@parley/chassis/surroundings';
import { type Unit, unit } from '@parley/chassis/unit';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import type { GatewayConfig } from './config.ts';
import { readSupergraph } from './graph/supergraph.ts';
import { publicServer } from './public-server.ts';

/** The one public endpoint: GraphQL over HTTP and WebSocket, in front of the subgraphs of the supergraph that `readSdl` reads. */
export function gateway(config: GatewayConfig, around: Surroundings, readSdl = readSupergraph): Unit {
  const { addresses, callers } = around;
  const log = createLogger('gateway');
  const metrics = createMetrics('gateway');
  const identity = rpcClient({
    definition: IdentityServiceDefinition,
    unit: 'identity',
    address: () => addresses.of('identity', 'rpc'),
    callers,
  });
  const session = rpcClient({
    definition: SessionServiceDefinition,
    unit: 'session',
    address: () => addresses.of('session', 'rpc'),
    callers,
  });

  const self = unit('gateway', [
    opsServer({
      unit: 'gateway',
      host: around.host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (url) => addresses.announce('gateway', 'ops', url),
    }),
    identity,
    session,
    publicServer({
      config,
      around,
      readSdl,
      identity: () => identity.calls,
      session: () => session.calls,
      metrics,
      log,
    }),
  ]);
  return self;
}
