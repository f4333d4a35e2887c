import { defineUnit } from '@parley/unit/define-unit';
import { gatewayDeclaration } from './declaration.ts';
import { readSupergraph } from './graph/supergraph.ts';
import { publicServer } from './public-server.ts';
import { subgraphUnits, subscriptionOwners } from './socket/subscription-owners.ts';

export function gatewayOf(readSdl: () => Promise<string>) {
  return defineUnit(gatewayDeclaration, {
    async uses() {
      const sdl = await readSdl();
      return [
        ...subgraphUnits(sdl).map((unit) => ({ unit, endpoint: 'graph' as const })),
        ...[...subscriptionOwners(sdl).values()].map((unit) => ({ unit, endpoint: 'rpc' as const })),
      ];
    },
    dependencies: ({ calls: { identity, session }, config, metrics, log }) => ({
      config,
      readSdl,
      identity: () => identity,
      session: () => session,
      metrics,
      log,
    }),
    servers: (deps, given) => [publicServer({ ...deps, given })],
  });
}

export const gateway = gatewayOf(readSupergraph);
