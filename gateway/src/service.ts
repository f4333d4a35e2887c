import { service } from '@parley/chassis/service';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { gatewayDeclaration } from './declaration.ts';
import { readSupergraph } from './graph/supergraph.ts';
import { publicServer } from './public-server.ts';

export function gatewayOf(readSdl: () => Promise<string>) {
  return service(gatewayDeclaration, {
    calls: { identity: IdentityServiceDefinition, session: SessionServiceDefinition },
    dependencies: ({ calls: { identity, session }, config, metrics, log }) => ({
      config,
      readSdl,
      identity: () => identity,
      session: () => session,
      metrics,
      log,
    }),
    parts: (deps, around) => [publicServer({ ...deps, around })],
  });
}

export const gateway = gatewayOf(readSupergraph);
