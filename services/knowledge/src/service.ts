import { unavailable } from '@parley/kernel/errors';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { KnowledgeServiceDefinition } from '@parley/protos/parley/knowledge/v1/knowledge';
import { s3Files } from '@parley/s3/s3-files';
import { service } from '@parley/service/service';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { knowledgeDeclaration } from './declaration.ts';
import type { Context } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import type { Ports } from './ports.ts';
import { knowledgeRpc } from './rpc.ts';

export const knowledge = service(knowledgeDeclaration, {
  calls: { identity: IdentityServiceDefinition },
  dependencies: ({ database, objectStore, calls, log }): Ports => ({
    database,
    objects: objectStore,
    ...calls,
    // STUB: replaced by the part that builds it
    embedder: {
      model: 'none',
      async embed() {
        throw unavailable('not built yet');
      },
    },
    log,
  }),
  files: s3Files,
  onTenantEnd: { nothingBecause: 'bases are read and written by callers of their tenant only, and those are refused' },
  rpc: { definition: KnowledgeServiceDefinition, implementation: knowledgeRpc },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
    context:
      (ports: Ports) =>
      (request): Context => ({ ...request, ports }),
  }),
});
