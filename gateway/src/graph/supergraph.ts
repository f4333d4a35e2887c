import { readFile } from 'node:fs/promises';
import type { Callers } from '@parley/kernel/caller';
import type { Addresses } from '@parley/kernel/processes/addresses';
import type { FairQueueLimits } from '@parley/kernel/queues/fair-queue';
import type { Logger } from '@parley/kernel/telemetry/log';
import { defaultLookupIntervalMs, type MeshOptions } from '@parley/kernel/tls/mesh';
import type { GraphQLSchema } from 'graphql';
import type { KnownNetworks } from '../limits/known-networks.ts';
import { ApolloGateway } from './apollo-gateway.ts';
import { installCustomScalars } from './custom-scalars.ts';
import { type FieldRules, readFieldRules } from './field-rules.ts';
import type { GatewayContext } from './gateway-context.ts';
import { passedThroughOwners } from './passed-through-owners.ts';
import type { SubgraphShare } from './subgraph-share.ts';
import { type SubgraphSource, type SubgraphSourceOptions, subgraphSource } from './subgraph-source.ts';

export interface Supergraph {
  gateway: ApolloGateway;
  rules: FieldRules;
  apiSchema(): GraphQLSchema;
  /** Returns the only subgraph of a query with `@passedThrough`; undefined for other queries. */
  sourceOf(query: string): SubgraphSource | undefined;
  waiting(): number;
  close(): Promise<void>;
}

export interface SupergraphOptions {
  sdl: string;
  callers: Callers;
  knownNetworks: KnownNetworks;
  addresses: Addresses;
  mesh: MeshOptions | undefined;
  subgraphTimeoutMs: number;
  subgraphConnectionMs: number;
  subgraphCalls: FairQueueLimits<SubgraphShare>;
  longCalls: SubgraphSourceOptions['long'];
  maxAnswerBytes: number;
  log: Logger;
}

/** Reads the schema that `scripts/compose` wrote. The addresses in it are placeholders; the real addresses come from settings. */
export function readSupergraph(): Promise<string> {
  return readFile(new URL('../../supergraph.graphql', import.meta.url), 'utf8');
}

export async function createSupergraph({
  sdl,
  callers,
  knownNetworks,
  addresses,
  mesh,
  subgraphTimeoutMs: timeoutMs,
  subgraphConnectionMs: connectionMs,
  subgraphCalls: calls,
  longCalls: long,
  maxAnswerBytes,
  log,
}: SupergraphOptions): Promise<Supergraph> {
  // @apollo/gateway reports its version and platform if this variable is not set before the gateway is created.
  process.env.APOLLO_TELEMETRY_DISABLED = 'true';
  const rules = readFieldRules(sdl);
  const owners = passedThroughOwners(sdl, rules);
  const sources: SubgraphSource[] = [];
  let schema: GraphQLSchema | undefined;
  const gateway = new ApolloGateway({
    supergraphSdl: sdl,
    // The schema is not validated again, not even in tests: `scripts/compose` has already checked it.
    validateSupergraph: false,
    logger: log.child({}, { level: 'warn' }),
    buildService: ({ name }) => {
      const url = addresses.of(name, 'graph');
      const reached = { url, tls: mesh?.tls, lookupIntervalMs: mesh?.lookupIntervalMs ?? defaultLookupIntervalMs };
      const limits = { timeoutMs, connectionMs, calls, long, maxAnswerBytes };
      const source = subgraphSource({ unit: name, ...reached, rules, callers, knownNetworks, ...limits, log });
      sources.push(source);
      return source as SubgraphSource & { process: (options: { context: GatewayContext }) => never };
    },
  });
  gateway.onSchemaLoadOrUpdate(({ apiSchema }) => {
    installCustomScalars(apiSchema);
    schema = apiSchema;
  });
  return {
    gateway,
    rules,
    apiSchema() {
      if (!schema) throw new Error('The supergraph has not been loaded yet');
      return schema;
    },
    sourceOf: (query) => sources.find(({ unit }) => unit === owners.get(query)),
    waiting: () => sources.reduce((sum, { waiting }) => sum + waiting, 0),
    async close() {
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}
