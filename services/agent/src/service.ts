import { AgentServiceDefinition } from '@parley/protos/parley/agent/v1/agent';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { service } from '@parley/service/service';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { agentReader } from './agent-reader.ts';
import { agentDeclaration } from './declaration.ts';
import { contextFor } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import { modelChooser } from './model-choice.ts';
import { createModels, type Models } from './models/models.ts';
import type { Ports } from './ports.ts';
import { agentRpc } from './rpc.ts';
import { tenantOverrides } from './tenant-overrides.ts';

export const agent = service(agentDeclaration, {
  calls: { identity: IdentityServiceDefinition },
  dependencies({ config, database, calls, log, metrics }): Ports & { models: Models } {
    const models = createModels(config.models, log);
    metrics.gauge('parley_agent_model_calls_waiting', 'Calls of models that wait for a place', () => models.waiting);
    return {
      database,
      models,
      readAgent: agentReader(database),
      chooseModel: modelChooser(models, tenantOverrides(calls.identity, log)),
      documentation: config.documentation,
    };
  },
  parts: ({ models }) => [{ name: 'models', start: async () => undefined, stop: () => models.close() }],
  onTenantEnd: { nothingBecause: 'agents act for callers of their tenant only, and those are refused' },
  rpc: {
    definition: AgentServiceDefinition,
    implementation: (ports) => agentRpc(ports),
    // An interrupted reply is lost, so replies in progress get most of the 25 s that a stop may take.
    drainTimeoutMs: 15_000,
  },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
    context: contextFor,
  }),
});
